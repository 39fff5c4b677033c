//! Ward's method on all pairs, by nearest-neighbour chains.
//!
//! A chain goes from a group to its nearest other, to the nearest of that, and so on, until two
//! groups are nearest to each other: these merge. A merge never brings a third group nearer than
//! the two were, so what is left of the chain stays one, and the merges in the order of their
//! distances are those of the plain method, which looks for the nearest pair of all each time.
//!
//! Distances follow the formula of Lance and Williams. They are held twice, so that those of a
//! group are a row: a step of a chain, and a merge, read rows from end to end, many numbers at a
//! time.
//!
//! **Cost.** For n points: about `3 n^2` comparisons and `n^2` updates, on one thread. Memory:
//! `4 n^2` bytes, and `2 n^2` of them once more while they are laid out.
//!
//! Reference: Müllner, "Modern hierarchical, agglomerative clustering algorithms", 2011,
//! arXiv:1109.2378.

use std::cmp::Ordering;

use rayon::prelude::*;

/// A merge of two nodes: points, then earlier merges in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) left: u32,
    pub(super) right: u32,
    /// The squared distance.
    pub(super) square: f32,
}

/// Rows laid out per task: the distances that they share with a point are next to each other.
const TASK_ROWS: usize = 16;

/// Numbers compared at a time.
const LANES: usize = 16;

/// The merges, the nearest first. `squares` are the squared distances of each point to all later
/// ones, point by point; `sizes` the numbers of members that the points stand for, as `square` of
/// two of them is the squared distance of their means times `2 a b / (a + b)`.
pub(super) fn merges(squares: &[f32], sizes: Vec<f32>) -> Vec<Step> {
    let n = sizes.len();
    let mut state =
        State { n, squares: whole(squares, n), sizes, live: (0..n as u32).collect(), closed: vec![0.0; n] };
    let mut chain: Vec<u32> = Vec::new();
    let mut steps = Vec::with_capacity(n.saturating_sub(1));
    while state.live.len() > 1 {
        let (mut last, mut next, mut least);
        if chain.len() < 4 {
            last = state.live[0];
            (next, least) = state.nearest(last, None);
            chain.clear();
            chain.push(last);
        } else {
            // Without the two that have merged, and the one before, which is looked at again.
            chain.truncate(chain.len() - 2);
            next = chain.pop().expect("four groups");
            last = chain[chain.len() - 1];
            least = state.square(last, next);
        }
        loop {
            chain.push(next);
            let found = state.nearest(next, Some((last, least)));
            least = found.1;
            (last, next) = (next, found.0);
            if chain[chain.len() - 2] == next {
                break;
            }
        }
        let (a, b) = (last.min(next), last.max(next));
        state.merge(a, b, least);
        steps.push(Step { left: a, right: b, square: least });
    }
    steps.sort_by(|a, b| a.square.partial_cmp(&b.square).unwrap_or(Ordering::Equal));
    numbered(steps, n)
}

/// Every distance in both directions, row by row; a point is infinitely far from itself.
fn whole(squares: &[f32], n: usize) -> Vec<f32> {
    let start = |point: usize| point * (2 * n - point - 1) / 2;
    let mut all: Vec<f32> = (0..n * n).into_par_iter().with_min_len(1 << 13).map(|_| f32::INFINITY).collect();
    all.par_chunks_mut(TASK_ROWS * n.max(1)).enumerate().for_each(|(task, rows)| {
        let first = task * TASK_ROWS;
        let n_rows = rows.len() / n;
        for earlier in 0..first {
            let shared = &squares[start(earlier) + first - earlier - 1..][..n_rows];
            shared.iter().enumerate().for_each(|(row, &square)| rows[row * n + earlier] = square);
        }
        for row in 0..n_rows {
            let point = first + row;
            rows[row * n + point + 1..(row + 1) * n]
                .copy_from_slice(&squares[start(point)..start(point) + n - point - 1]);
            for later in row + 1..n_rows {
                rows[later * n + point] = rows[row * n + first + later];
            }
        }
    });
    all
}

/// Merges of groups that are named after one of their points, as merges of nodes.
fn numbered(mut steps: Vec<Step>, n: usize) -> Vec<Step> {
    // The node above each node; its own number at the top.
    let mut above: Vec<u32> = (0..(n + steps.len()) as u32).collect();
    for (number, step) in steps.iter_mut().enumerate() {
        let mut top = |mut node: u32| {
            while above[node as usize] != node {
                above[node as usize] = above[above[node as usize] as usize];
                node = above[node as usize];
            }
            node
        };
        (step.left, step.right) = (top(step.left), top(step.right));
        for part in [step.left, step.right] {
            above[part as usize] = (n + number) as u32;
        }
    }
    steps
}

struct State {
    n: usize,
    squares: Vec<f32>,
    sizes: Vec<f32>,
    /// The groups, ascending. A union has the number of its greater part.
    live: Vec<u32>,
    /// 0 for groups, infinity for those that are part of a union.
    closed: Vec<f32>,
}

impl State {
    fn row(&self, group: u32) -> &[f32] {
        &self.squares[group as usize * self.n..][..self.n]
    }

    fn square(&self, a: u32, b: u32) -> f32 {
        self.row(a)[b as usize]
    }

    /// The nearest other group and how far it is: on a tie the given one, or else the first.
    fn nearest(&self, group: u32, known: Option<(u32, f32)>) -> (u32, f32) {
        let row = self.row(group);
        let mut least = [f32::INFINITY; LANES];
        let (rows, closed) = (row.chunks_exact(LANES), self.closed.chunks_exact(LANES));
        let rest = rows.remainder().iter().zip(closed.remainder());
        let rest = rest.map(|(square, closed)| square + closed).fold(f32::INFINITY, f32::min);
        for (row, closed) in rows.zip(closed) {
            for ((least, square), closed) in least.iter_mut().zip(row).zip(closed) {
                let square = square + closed;
                *least = if square < *least { square } else { *least };
            }
        }
        let least = least.into_iter().fold(rest, f32::min);
        if let Some((known, square)) = known
            && square <= least
        {
            return (known, square);
        }
        let found = row.iter().zip(&self.closed).position(|(square, closed)| square + closed == least);
        (found.expect("there is another group") as u32, least)
    }

    /// Merges a into b, which is greater.
    fn merge(&mut self, a: u32, b: u32, square: f32) {
        let (low, high) = self.squares.split_at_mut(b as usize * self.n);
        let (row, union) = (&low[a as usize * self.n..][..self.n], &mut high[..self.n]);
        let (size_a, size_b) = (self.sizes[a as usize], self.sizes[b as usize]);
        let both = size_a + size_b;
        for ((union, from), size) in union.iter_mut().zip(row).zip(&self.sizes) {
            let sum = (size + size_a) * from + (size + size_b) * *union - size * square;
            *union = sum / (both + size);
        }
        union[b as usize] = f32::INFINITY;
        self.closed[a as usize] = f32::INFINITY;
        self.sizes[b as usize] = both;
        self.live.retain(|&group| group != a);
        for &group in &self.live {
            let square = self.squares[b as usize * self.n + group as usize];
            self.squares[group as usize * self.n + b as usize] = square;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each time the nearest pair of all, by the means of the groups.
    fn plainly(points: &[[f32; 3]], sizes: &[f32]) -> Vec<(Vec<usize>, f64)> {
        let mut groups: Vec<(Vec<usize>, [f64; 3], f64)> = (0..points.len())
            .map(|point| (vec![point], points[point].map(f64::from), f64::from(sizes[point])))
            .collect();
        let mut merges = Vec::new();
        while groups.len() > 1 {
            let mut best = (f64::INFINITY, 0, 0);
            for b in 0..groups.len() {
                for a in 0..b {
                    let apart: f64 = (0..3).map(|axis| (groups[a].1[axis] - groups[b].1[axis]).powi(2)).sum();
                    let square = 2.0 * groups[a].2 * groups[b].2 / (groups[a].2 + groups[b].2) * apart;
                    if square < best.0 {
                        best = (square, a, b);
                    }
                }
            }
            let (b, a) = (groups.remove(best.2), groups.remove(best.1));
            let size = a.2 + b.2;
            let mean = [0, 1, 2].map(|axis| (a.1[axis] * a.2 + b.1[axis] * b.2) / size);
            let mut members = [a.0, b.0].concat();
            members.sort_unstable();
            merges.push((members.clone(), best.0));
            groups.push((members, mean, size));
        }
        merges
    }

    proptest! {
        #[test]
        fn merges_are_those_of_the_nearest_pairs(
            points in prop::collection::vec((prop::array::uniform3(-9.0f32..9.0), 1u8..4), 1..60),
        ) {
            let (points, sizes): (Vec<[f32; 3]>, Vec<f32>) =
                points.into_iter().map(|(point, size)| (point, f32::from(size))).unzip();
            let n = points.len();
            let mut squares = Vec::new();
            for a in 0..n {
                for b in a + 1..n {
                    let apart: f32 = (0..3).map(|axis| (points[a][axis] - points[b][axis]).powi(2)).sum();
                    squares.push(2.0 * sizes[a] * sizes[b] / (sizes[a] + sizes[b]) * apart);
                }
            }
            let expected = plainly(&points, &sizes);
            let steps = merges(&squares, sizes);
            prop_assert_eq!(steps.len(), n - 1);
            let mut members: Vec<Vec<usize>> = (0..n).map(|point| vec![point]).collect();
            for (step, (expected, square)) in steps.iter().zip(expected) {
                let mut union = [&members[step.left as usize][..], &members[step.right as usize]].concat();
                union.sort_unstable();
                // Random points have no ties; rounding may still swap merges that cost nearly the
                // same.
                let is_near = (f64::from(step.square) - square).abs() < 1e-3 * square + 1e-4;
                prop_assert!(union == expected || is_near, "{union:?} {expected:?}");
                prop_assert!(is_near, "{} {square}", step.square);
                members.push(union);
            }
        }
    }
}
