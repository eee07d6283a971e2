//! Protocol fields of a call: a flat row of named integers, so that columns, filters and exports are
//! driven by one table.

use serde::{Deserialize, Serialize};

/// How a field's integer is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    Integer,
    /// Shown as 16 hexadecimal digits: a hash of an opaque identifier.
    Hash,
    Flag,
    /// One of a list of words.
    Word(&'static [&'static str]),
}

macro_rules! fields {
    ($($(#[$doc:meta])* $variant:ident $name:literal $kind:expr;)*) => {
        /// The fields protocols may set.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum Field { $($(#[$doc])* $variant,)* }

        impl Field {
            /// Every field, in the order of output.
            pub const ALL: &'static [Field] = &[$(Field::$variant,)*];

            /// The key in `detail` and in `--where`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Field::$variant => $name,)* }
            }

            #[must_use]
            pub fn kind(self) -> FieldKind {
                match self { $(Field::$variant => $kind,)* }
            }
        }
    };
}

fields! {
    /// A stable hash of the file handle.
    File "file" FieldKind::Hash;
    /// Byte offset in the file.
    Offset "offset" FieldKind::Integer;
    /// Bytes asked for (READ) or sent (WRITE).
    Count "count" FieldKind::Integer;
    /// Bytes read or written according to the reply.
    Returned "returned" FieldKind::Integer;
    /// The reply said that the end of the file, or of a cursor's rows, was reached.
    Eof "eof" FieldKind::Flag;
    /// How durable a WRITE was asked to be.
    Stable "stable" FieldKind::Word(&["UNSTABLE", "DATA_SYNC", "FILE_SYNC"]);
    /// The server said that it would answer later (SMB: STATUS_PENDING), as it may when somebody else has the file.
    Pending "pending" FieldKind::Flag;
    /// NFSv4.1 session slot.
    Slot "slot" FieldKind::Integer;
    /// Highest slot the NFSv4.1 client says it uses.
    HighestSlot "highest_slot" FieldKind::Integer;
    /// ONC-RPC programme number, where the protocol column does not say it.
    Program "program" FieldKind::Integer;
    Version "version" FieldKind::Integer;
    Procedure "procedure" FieldKind::Integer;
    /// Status number without a known name.
    Status "status" FieldKind::Integer;
    /// How the call was protected; `krb5p` and `tls` hide everything but its timing.
    Security "security" FieldKind::Word(&["none", "sys", "dh", "krb5", "krb5i", "krb5p", "tls", "other"]);
    /// The snap length hid the header of the request or the response; where it stood follows from
    /// those around it.
    Inferred "inferred" FieldKind::Flag;
    /// The statement, by the hash of its normal form.
    Statement "statement" FieldKind::Hash;
    /// Rows the client asked for at most: its array or fetch size.
    RowsAsked "rows_asked" FieldKind::Integer;
    /// Rows that came back.
    Rows "rows" FieldKind::Integer;
    /// Rows that a statement inserted, changed or deleted.
    Affected "affected" FieldKind::Integer;
    /// The database's number of a cursor or prepared statement.
    Cursor "cursor" FieldKind::Integer;
    /// Rows came in SQL*Net's encoding that leaves out columns which repeat the row before.
    DuplicateColumns "duplicate_columns" FieldKind::Flag;
    /// The number of a database's function whose operation has no name of its own.
    Function "function" FieldKind::Integer;
    /// The listener sent the client to another address.
    Redirected "redirected" FieldKind::Flag;
    /// Further round trips on the network inside the call: breaks and resets, authentication steps.
    InnerTrips "inner_trips" FieldKind::Integer;
    /// Of a logon in several calls, which this is.
    Step "step" FieldKind::Word(&["native-services", "protocol", "data-types", "session-key", "password", "all-in-one"]);
    /// The largest packet of SQL*Net, bytes, of a request or response that takes several.
    LargestPacket "largest_packet" FieldKind::Integer;
    /// Records that answer a lookup.
    Answers "answers" FieldKind::Integer;
}

/// Fields a call may have (protocols set eight at most).
const MOST: usize = 8;

/// The protocol fields of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Detail {
    /// How many are set; what lies behind them is as in [`Detail::default`].
    set: u8,
    names: [Field; MOST],
    values: [u64; MOST],
}

impl Default for Detail {
    fn default() -> Detail {
        Detail {
            set: 0,
            names: [Field::File; MOST],
            values: [0; MOST],
        }
    }
}

impl Detail {
    /// Sets a field; a row that is full keeps what it has.
    pub fn set(&mut self, field: Field, value: u64) {
        let set = usize::from(self.set);
        let names = self.names.get(..set).unwrap_or_default();
        if let Some(at) = names.iter().position(|&name| name == field) {
            self.values[at] = value;
        } else if let (Some(n), Some(v)) = (self.names.get_mut(set), self.values.get_mut(set)) {
            (*n, *v) = (field, value);
            self.set += 1;
        }
    }

    #[must_use]
    pub fn get(&self, field: Field) -> Option<u64> {
        let names = self.names.get(..usize::from(self.set))?;
        let at = names.iter().position(|&name| name == field)?;
        self.values.get(at).copied()
    }

    /// A word's field as that word.
    #[must_use]
    pub fn word(&self, field: Field) -> Option<&'static str> {
        let FieldKind::Word(words) = field.kind() else {
            return None;
        };
        words.get(usize::try_from(self.get(field)?).ok()?).copied()
    }

    /// The fields that are set, in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (Field, u64)> + '_ {
        let all = self.names.iter().copied().zip(self.values.iter().copied());
        all.take(self.set.into())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set == 0
    }
}
