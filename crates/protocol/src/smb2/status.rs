//! NTSTATUS by name ([MS-ERREF] 2.3.1), those that file servers give. The two upper bits are the
//! severity: 3 is an error, 2 a warning, and what is less is success.

use model::Outcome;

/// The response is still to come.
pub(super) const PENDING: u32 = 0x0000_0103;
/// A logon takes another round trip.
const MORE_PROCESSING_REQUIRED: u32 = 0xc000_0016;

const NAMES: &[(u32, &str)] = &[
    (0xc000_0001, "UNSUCCESSFUL"),
    (0xc000_0002, "NOT_IMPLEMENTED"),
    (0xc000_0003, "INVALID_INFO_CLASS"),
    (0xc000_0004, "INFO_LENGTH_MISMATCH"),
    (0xc000_0008, "INVALID_HANDLE"),
    (0xc000_000d, "INVALID_PARAMETER"),
    (0xc000_000e, "NO_SUCH_DEVICE"),
    (0xc000_000f, "NO_SUCH_FILE"),
    (0xc000_0010, "INVALID_DEVICE_REQUEST"),
    (0xc000_0011, "END_OF_FILE"),
    (0xc000_0015, "NONEXISTENT_SECTOR"),
    (0xc000_0022, "ACCESS_DENIED"),
    (0xc000_0023, "BUFFER_TOO_SMALL"),
    (0xc000_0033, "OBJECT_NAME_INVALID"),
    (0xc000_0034, "OBJECT_NAME_NOT_FOUND"),
    (0xc000_0035, "OBJECT_NAME_COLLISION"),
    (0xc000_0039, "OBJECT_PATH_INVALID"),
    (0xc000_003a, "OBJECT_PATH_NOT_FOUND"),
    (0xc000_003b, "OBJECT_PATH_SYNTAX_BAD"),
    (0xc000_0043, "SHARING_VIOLATION"),
    (0xc000_004f, "EAS_NOT_SUPPORTED"),
    (0xc000_0054, "FILE_LOCK_CONFLICT"),
    (0xc000_0055, "LOCK_NOT_GRANTED"),
    (0xc000_0056, "DELETE_PENDING"),
    (0xc000_005e, "NO_LOGON_SERVERS"),
    (0xc000_0064, "NO_SUCH_USER"),
    (0xc000_006a, "WRONG_PASSWORD"),
    (0xc000_006d, "LOGON_FAILURE"),
    (0xc000_006e, "ACCOUNT_RESTRICTION"),
    (0xc000_0071, "PASSWORD_EXPIRED"),
    (0xc000_0072, "ACCOUNT_DISABLED"),
    (0xc000_007e, "RANGE_NOT_LOCKED"),
    (0xc000_007f, "DISK_FULL"),
    (0xc000_0098, "FILE_INVALID"),
    (0xc000_009a, "INSUFFICIENT_RESOURCES"),
    (0xc000_00ac, "PIPE_NOT_AVAILABLE"),
    (0xc000_00ae, "PIPE_BUSY"),
    (0xc000_00b0, "PIPE_DISCONNECTED"),
    (0xc000_00b5, "IO_TIMEOUT"),
    (0xc000_00ba, "FILE_IS_A_DIRECTORY"),
    (0xc000_00bb, "NOT_SUPPORTED"),
    (0xc000_00c9, "NETWORK_NAME_DELETED"),
    (0xc000_00ca, "NETWORK_ACCESS_DENIED"),
    (0xc000_00cb, "BAD_DEVICE_TYPE"),
    (0xc000_00cc, "BAD_NETWORK_NAME"),
    (0xc000_00d0, "REQUEST_NOT_ACCEPTED"),
    (0xc000_00d5, "FILE_RENAMED"),
    (0xc000_0101, "DIRECTORY_NOT_EMPTY"),
    (0xc000_0103, "NOT_A_DIRECTORY"),
    (0xc000_0120, "CANCELLED"),
    (0xc000_0121, "CANNOT_DELETE"),
    (0xc000_0128, "FILE_CLOSED"),
    (0xc000_0184, "INVALID_DEVICE_STATE"),
    (0xc000_0193, "ACCOUNT_EXPIRED"),
    (0xc000_0203, "USER_SESSION_DELETED"),
    (0xc000_0205, "INSUFF_SERVER_RESOURCES"),
    (0xc000_0225, "NOT_FOUND"),
    (0xc000_0234, "ACCOUNT_LOCKED_OUT"),
    (0xc000_0257, "PATH_NOT_COVERED"),
    (0xc000_0275, "NOT_A_REPARSE_POINT"),
    (0xc000_035c, "NETWORK_SESSION_EXPIRED"),
    (0xc000_0467, "FILE_NOT_AVAILABLE"),
    (0xc000_05e8, "BAD_LEASE_KEY"),
    (0xc03a_0019, "SMB_BAD_CLUSTER_DIALECT"),
];

/// How a call with this status ended, and the number where it has no name.
pub(super) fn outcome(status: u32) -> (Outcome, Option<u64>) {
    if status >> 30 != 3 || status == MORE_PROCESSING_REQUIRED {
        return (Outcome::Ok, None);
    }
    match NAMES.iter().find(|(number, _)| *number == status) {
        Some((_, name)) => (Outcome::Error(name), None),
        None => (Outcome::Error("error"), Some(status.into())),
    }
}
