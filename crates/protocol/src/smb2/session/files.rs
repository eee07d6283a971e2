//! What requests say of files into what a connection has open, and what it gives back into the server's own calls.

use super::super::header::{CLOSE, OPLOCK_BREAK};
use super::super::opens::{self, Break};
use super::{Request, Session};
use crate::session::{Context, Span};
use model::{Call, Detail, Directory, Field, Name, Naming, Outcome, Protocol};

const ASKS_BACK: Name = Name::of("OPLOCK_BREAK");

impl Session {
    /// The path of what a request names, where all of it was captured.
    pub(super) fn path(&self, request: &Request) -> Option<String> {
        let name = request.name.as_ref().filter(|_| request.is_whole)?;
        self.opens.path(request.tree, name)
    }

    /// A file was opened, or could not be: it is known by its name from here on.
    pub(super) fn opened(
        &mut self,
        cx: &mut Context<'_>,
        request: &Request,
        detail: &mut Detail,
        level: u8,
    ) {
        let path = self.path(request);
        let file = path.as_deref().map(opens::number);
        if let Some(id) = detail.get(Field::File) {
            if !request.is_closed {
                self.opens.opened(id, file, level, request.lease);
            }
            if let (Some(file), Some(path)) = (file, path) {
                (cx.output).name_files((cx.order, cx.connection.id), |say| {
                    say(Naming::Is {
                        file,
                        within: Directory::Root,
                        name: path.into(),
                    });
                });
            }
        }
        if let Some(file) = file {
            detail.set(Field::File, file);
        }
    }

    /// What a request says of a file, and whether it gives back what the server asked for.
    pub(super) fn gives_back(&mut self, cx: &mut Context<'_>, request: &mut Request) {
        let id = request.detail.get(Field::File);
        if let Some(file) = id.and_then(|id| self.opens.file(id)) {
            request.detail.set(Field::File, file);
        }
        let given = match (request.command, request.told, id) {
            (CLOSE, _, Some(id)) => self.opens.closed(id),
            (OPLOCK_BREAK, Some(told), _) => self.opens.acknowledged(told),
            _ => None,
        };
        if let Some(asked) = given {
            self.report_break(
                cx,
                &asked,
                Some((&request.span, request.bytes)),
                Outcome::Ok,
            );
        }
    }

    /// The server's own call is over: the client has given back what it asked for, or is gone.
    pub(super) fn report_break(
        &self,
        cx: &mut Context<'_>,
        asked: &Break,
        answer: Option<(&Span, u64)>,
        outcome: Outcome,
    ) {
        if cx.output.counts(outcome) {
            return;
        }
        let (order, connection) = (cx.order, cx.connection.id);
        let (client, server) = cx.connection.ends(self.requests().reverse());
        let mut detail = Detail::default();
        if let Some(file) = asked.file {
            detail.set(Field::File, file);
        }
        let whole = |span: &Span| (!span.end_missing).then_some(span.last);
        cx.output.call(|| Call {
            order,
            connection,
            protocol: Protocol::Smb2Callback,
            op: ASKS_BACK,
            client,
            server,
            id: 0,
            request_sequence: asked.span.sequence,
            response_sequence: answer.map_or(0, |(span, _)| span.sequence),
            request_first: Some(asked.span.first),
            request_last: whole(&asked.span),
            response_first: answer.map(|(span, _)| span.first),
            response_last: answer.and_then(|(span, _)| whole(span)),
            request_bytes: asked.bytes,
            response_bytes: answer.map_or(0, |(_, bytes)| bytes),
            outcome,
            outstanding: 1,
            retransmits: 0,
            request_held_ns: asked.span.request_held_ns(),
            response_held_ns: 0,
            inner: None,
            hidden: None,
            detail,
            text: None,
            sql: None,
        });
    }
}
