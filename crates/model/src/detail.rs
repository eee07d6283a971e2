//! Protocol fields of a call: a flat row of named integers, so that columns, filters and exports are
//! driven by one table.

use arrayvec::ArrayVec;

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
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// The reply said that the end of the file was reached.
    Eof "eof" FieldKind::Flag;
    /// How durable a WRITE was asked to be.
    Stable "stable" FieldKind::Word(&["UNSTABLE", "DATA_SYNC", "FILE_SYNC"]);
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
}

/// The protocol fields of one call.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Detail {
    names: ArrayVec<Field, 8>,
    values: ArrayVec<u64, 8>,
}

impl Detail {
    /// Sets a field; a row that is full keeps what it has (protocols set eight at most).
    pub fn set(&mut self, field: Field, value: u64) {
        if let Some(i) = self.names.iter().position(|&f| f == field) {
            if let Some(v) = self.values.get_mut(i) {
                *v = value;
            }
        } else if self.names.try_push(field).is_ok() {
            self.values.push(value);
        }
    }

    #[must_use]
    pub fn get(&self, field: Field) -> Option<u64> {
        let i = self.names.iter().position(|&f| f == field)?;
        self.values.get(i).copied()
    }

    /// The fields that are set, in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (Field, u64)> + '_ {
        self.names.iter().copied().zip(self.values.iter().copied())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
