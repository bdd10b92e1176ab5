//! The Burrows-Wheeler transform undone, from several places of the text at once.
//!
//! Each byte of the text tells where the next one is, so the plain way is one chain of 900 000 loads, nearly
//! every second from the outer cache. Where in the text a row of the sorted block belongs is known only at the
//! end; but one can start at any row, and stop at a row where someone else has started. So the text is found
//! in some hundred segments, a few at a time whose loads overlap, and these are then put in order.
//! On blocks of news20.scale.bz2 undoing the sort takes 5 ms so, and 8.6 ms the plain way.

/// Segments in work at a time; twice as many are no faster.
const LANES: usize = 4;
/// Segments in all, but for one: many, since their lengths are random and the last ones are walked alone.
const STARTS: usize = 256;
/// On the link of a row where a segment starts. The other bits are the next row and, in the lowest eight, the
/// byte.
const START: u32 = 1 << 31;

#[derive(Clone, Copy, Default)]
struct Segment {
    lane: usize,
    from: usize,
    to: usize,
    /// The segment after it.
    next: usize,
}

/// Undoes the sorting of blocks, with memory that is kept from one to the next.
#[derive(Default)]
pub(super) struct Unsorter {
    links: Vec<u32>,
    lanes: [Vec<u8>; LANES],
    starts: Vec<u32>,
    segments: Vec<Segment>,
}

impl Unsorter {
    /// Replaces the last column of the sorted rotations of a text by the text, which is row `first`, less than
    /// the length of the column. `counts` are those of the bytes in the column, which has up to 2^20.
    ///
    /// The text may be a repetition of something shorter; then the links are several cycles, and the one with
    /// `first` is gone through as often as needed.
    pub fn unsort(&mut self, column: &mut [u8], first: usize, counts: &[u32; 256]) {
        self.link(column, counts);
        self.mark(column.len(), first as u32);
        self.walk(column.len());
        let mut at = self.segment_at(first as u32);
        let mut rest = column;
        while !rest.is_empty() {
            let Segment { lane, from, to, next } = self.segments[at];
            let found = &self.lanes[lane][from..to];
            let (part, after) = rest.split_at_mut(found.len().min(rest.len()));
            part.copy_from_slice(&found[..part.len()]);
            rest = after;
            at = next;
        }
    }

    fn link(&mut self, column: &[u8], counts: &[u32; 256]) {
        grow(&mut self.links, column.len());
        let links = &mut self.links[..column.len()];
        let (mut places, mut sum) = ([0; 256], 0);
        for (place, count) in places.iter_mut().zip(counts) {
            *place = sum;
            sum += count;
        }
        for (row, &byte) in (0..).zip(column) {
            let place = &mut places[usize::from(byte)];
            links[*place as usize] = row << 8 | u32::from(byte);
            *place += 1;
        }
    }

    /// Chooses the rows where segments start, one of which is `first`.
    fn mark(&mut self, length: usize, first: u32) {
        self.starts.clear();
        self.starts.extend((0..STARTS).map(|i| (i * length / STARTS) as u32));
        self.starts.push(first);
        self.starts.sort_unstable();
        self.starts.dedup();
        for &row in &self.starts {
            self.links[row as usize] |= START;
        }
        self.segments.clear();
        self.segments.resize(self.starts.len(), Segment::default());
    }

    fn segment_at(&self, row: u32) -> usize {
        self.starts.partition_point(|&start| start < row)
    }

    /// Walks all segments into the lanes.
    fn walk(&mut self, length: usize) {
        for lane in &mut self.lanes {
            grow(lane, length);
        }
        let mut lanes = std::mem::take(&mut self.lanes);
        let links = std::mem::take(&mut self.links);
        // all lanes begin as if they had come to the end of a segment
        let mut at = [self.starts[0] as usize; LANES];
        let mut open = [None; LANES];
        let mut begun = 0;
        let mut step = 0;
        let alone = {
            let bytes = lanes.each_mut().map(|lane| &mut lane[..length]);
            'together: loop {
                for lane in 0..LANES {
                    let mut link = links[at[lane]];
                    if link & START != 0 {
                        self.close(open[lane], lane, step, at[lane]);
                        let Some(&row) = self.starts.get(begun) else {
                            break 'together lane;
                        };
                        open[lane] = Some((begun, step));
                        begun += 1;
                        link = links[row as usize] & !START;
                    }
                    bytes[lane][step] = link as u8;
                    at[lane] = (link >> 8) as usize;
                }
                step += 1;
            }
        };
        // no segments are left to begin: the other lanes end theirs
        for lane in (0..LANES).filter(|&lane| lane != alone) {
            let mut step = step + usize::from(lane < alone);
            let mut row = at[lane];
            while links[row] & START == 0 {
                lanes[lane][step] = links[row] as u8;
                row = (links[row] >> 8) as usize;
                step += 1;
            }
            self.close(open[lane], lane, step, row);
        }
        (self.lanes, self.links) = (lanes, links);
    }

    fn close(&mut self, open: Option<(usize, usize)>, lane: usize, to: usize, row: usize) {
        if let Some((segment, from)) = open {
            let next = self.segment_at(row as u32);
            self.segments[segment] = Segment { lane, from, to, next };
        }
    }
}

/// Makes memory at least so long.
pub(super) fn grow<T: Copy + Default>(memory: &mut Vec<T>, length: usize) {
    if memory.len() < length {
        memory.resize(length, T::default());
    }
}
