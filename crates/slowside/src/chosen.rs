//! What `--where` asks of calls that two captures hold into the rows of each that are looked at.
//!
//! Both captures have the same call, with times of their own: one of 20.1 ms at its client may have taken 19.9 at its
//! server. A call is asked once, as its client saw it, and what the server's capture has of it goes with it. So
//! captures are matched first, and looked at with what was chosen.

/// Rows of a capture, a bit each.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rows(Vec<u64>);

impl Rows {
    pub(crate) fn set(&mut self, row: u64, is_one: bool) {
        let Ok(word) = usize::try_from(row / 64) else {
            return;
        };
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            let bit = 1 << (row % 64);
            *word = if is_one { *word | bit } else { *word & !bit };
        }
    }

    pub(crate) fn has(&self, row: u64) -> bool {
        let word = usize::try_from(row / 64).ok();
        let word = word.and_then(|word| self.0.get(word));
        word.is_some_and(|word| word >> (row % 64) & 1 == 1)
    }
}

/// Of two captures, which rows pass by themselves, and which by the call that they belong to.
#[derive(Default, Debug)]
pub(crate) struct Chosen {
    passes: [Rows; 2],
    twins: Vec<[u64; 2]>,
}

impl Chosen {
    /// Row `row` of capture `which`.
    pub(crate) fn asked(&mut self, which: usize, row: u64, passes: bool) {
        self.passes[which].set(row, passes);
    }

    pub(crate) fn passes(&self, which: usize, row: u64) -> bool {
        self.passes[which].has(row)
    }

    /// One call in both: its row at the client, and at the server.
    pub(crate) fn matched(&mut self, client_row: u64, server_row: u64) {
        self.twins.push([client_row, server_row]);
    }

    /// What is looked at of each capture, of which number `client` was taken at the client.
    pub(crate) fn rows(self, client: usize) -> [Rows; 2] {
        let Chosen { mut passes, twins } = self;
        for [at_client, at_server] in twins {
            let passed = passes[client].has(at_client);
            passes[1 - client].set(at_server, passed);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_row_goes_with_its_clients() {
        let mut chosen = Chosen::default();
        // At the server 70 alone is slow enough, and at the client 3; 130 is nobody's twin.
        for (which, row, passes) in [(0, 3, true), (0, 4, false), (1, 70, true), (1, 130, true)] {
            chosen.asked(which, row, passes);
        }
        chosen.matched(3, 65);
        chosen.matched(4, 70);
        let [client, server] = chosen.rows(0);
        assert!(client.has(3) && !client.has(4));
        assert!(server.has(65) && !server.has(70) && server.has(130));
    }
}
