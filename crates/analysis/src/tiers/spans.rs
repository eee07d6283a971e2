//! Times that do not overlap, and how much of them lies within others.

/// From when to when, in nanoseconds; the end is not part of it.
pub(super) type Span = (i64, i64);

/// Spans in their order.
#[derive(Default)]
pub(super) struct Spans {
    spans: Vec<Span>,
    /// How long those before each are in all.
    before_ns: Vec<i64>,
}

impl Spans {
    fn of(spans: Vec<Span>) -> Spans {
        let mut sum = 0i64;
        let before_ns = spans.iter().map(|(from, to)| {
            let before = sum;
            sum = sum.saturating_add(to - from);
            before
        });
        Spans {
            before_ns: before_ns.collect(),
            spans,
        }
    }

    /// When any of these was.
    pub(super) fn any(mut all: Vec<Span>) -> Spans {
        all.sort_unstable();
        let mut merged: Vec<Span> = Vec::new();
        for (from, to) in all {
            match merged.last_mut() {
                Some((_, end)) if from <= *end => *end = to.max(*end),
                _ => merged.push((from, to)),
            }
        }
        Spans::of(merged)
    }

    /// When one of these was, and no other.
    pub(super) fn one(all: impl Iterator<Item = Span>) -> Spans {
        let mut changes: Vec<(i64, bool)> = Vec::new();
        all.filter(|(from, to)| from < to)
            .for_each(|(from, to)| changes.extend([(from, true), (to, false)]));
        changes.sort_unstable();
        let (mut there, mut since) = (0u32, 0);
        let mut alone = Vec::new();
        for (at, begins) in changes {
            if there == 1 && at > since {
                alone.push((since, at));
            }
            there = match begins {
                true => there.saturating_add(1),
                false => there.saturating_sub(1),
            };
            since = at;
        }
        Spans::of(alone)
    }

    /// When both are.
    pub(super) fn and(&self, other: &Spans) -> Spans {
        let (mut mine, mut theirs) = (self.spans.iter().peekable(), other.spans.iter().peekable());
        let mut both = Vec::new();
        while let (Some(&&(a, b)), Some(&&(c, d))) = (mine.peek(), theirs.peek()) {
            let (from, to) = (a.max(c), b.min(d));
            if from < to {
                both.push((from, to));
            }
            match b < d {
                true => mine.next(),
                false => theirs.next(),
            };
        }
        Spans::of(both)
    }

    /// When any of these was, while others, of which there are many more, were.
    pub(super) fn among(&self, others: &Spans) -> Spans {
        let mut both = Vec::new();
        for (from, to) in &self.spans {
            let first = others.spans.partition_point(|(_, end)| end <= from);
            let near = others.spans.iter().skip(first);
            let near = near.take_while(|(begin, _)| begin < to);
            both.extend(near.map(|(begin, end)| (*begin.max(from), *end.min(to))));
        }
        Spans::of(both)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Span> {
        self.spans.iter().copied()
    }

    /// The times between them.
    pub(super) fn between(&self) -> Vec<Span> {
        let next = self.spans.iter().skip(1);
        let pairs = self.spans.iter().zip(next);
        pairs.map(|((_, from), (to, _))| (*from, *to)).collect()
    }

    /// From the first to the last.
    pub(super) fn life(&self) -> Option<Span> {
        let (first, last) = (self.spans.first()?, self.spans.last()?);
        Some((first.0, last.1))
    }

    /// When the one began that holds the beginning of this span.
    pub(super) fn begun(&self, (from, _): Span) -> Option<i64> {
        let begun = self.spans.partition_point(|(begin, _)| *begin <= from);
        let (begin, end) = self.spans.get(begun.checked_sub(1)?)?;
        (from < *end).then_some(*begin)
    }

    /// Whether one of them has all of this span.
    pub(super) fn holds(&self, span: Span) -> bool {
        self.within(span) == span.1 - span.0
    }

    /// How much of them lies within this span.
    pub(super) fn within(&self, (from, to): Span) -> i64 {
        (self.until(to) - self.until(from)).max(0)
    }

    /// How long they had been by then.
    fn until(&self, at: i64) -> i64 {
        let begun = self.spans.partition_point(|(from, _)| *from < at);
        let last = begun.checked_sub(1);
        last.map_or(0, |i| {
            let (from, to) = self.spans[i];
            self.before_ns[i].saturating_add(at.min(to) - from)
        })
    }
}
