//! Conversation scripts into packets and captures, splitters and fault injection; for tests only.
