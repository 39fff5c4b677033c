//! A tree of squares over points of the plane, for forces between all of them by Barnes and Hut.
//!
//! Points are sorted along a Z-order curve: 32 bits of each coordinate, interleaved. The points of
//! a square are then a range, and its parts those of the next two bits that differ. Squares with
//! few points are built on all threads and put behind the others, in their order. Every number of a
//! node depends only on its points, so the division into tasks and the number of threads change no
//! bit.
//!
//! **Cost.** A sort, and one pass over the points per level, of which there are as many as the
//! density of the points varies. Memory: 16 bytes per point, and 24 per node, twice while they are
//! put together; there are at most two nodes per point.
//!
//! Reference: Barnes, Hut: "A hierarchical O(N log N) force-calculation algorithm", Nature 324,
//! 1986, doi:10.1038/324446a0.

use rayon::prelude::*;

/// Squares with at most this share of all points are built by one task.
const TASK_SHARE: usize = 128;

/// Squares with at most this many points are.
const TASK_POINTS: usize = 256;

/// Points per task of other passes.
const MIN_POINTS: usize = 1024;

/// Bits of a coordinate.
const BITS: u32 = 32;

/// A square and the points in it.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// The mean of its points.
    centre: [f32; 2],
    n_points: f32,
    /// The square of half of its width.
    half_width_squared: f32,
    first_part: u32,
    /// 0 for a leaf: one point, or points that are the same in 32 bits.
    n_parts: u32,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Quadtree {
    /// The whole first. The parts of a node are behind it, one after the other.
    nodes: Vec<Node>,
    /// Position on the curve, and number, of each point.
    sorted: Vec<(u64, u32)>,
    top: Branch,
    branches: Vec<Branch>,
}

/// The nodes of one square, itself first, and their ranges of points.
#[derive(Debug, Default)]
struct Branch {
    nodes: Vec<Node>,
    ranges: Vec<(u32, u32)>,
}

/// The sorted points.
#[derive(Clone, Copy)]
struct Points<'a> {
    places: &'a [[f32; 2]],
    sorted: &'a [(u64, u32)],
    half_widths_squared: &'a [f32; BITS as usize + 1],
}

/// The repulsion that a point feels, up to a factor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Repulsion {
    pub(super) force: [f32; 2],
    /// The sum of `1 / (1 + d^2)` over all other points.
    pub(super) sum: f32,
}

impl Quadtree {
    /// Builds the tree of these points, in the memory of the one before.
    pub(super) fn build(&mut self, places: &[[f32; 2]]) {
        let (low, widths) = extent(places);
        let widest = widths[0].max(widths[1]);
        let half_widths_squared = std::array::from_fn(|level| {
            let half = widest / (1u64 << (level + 1)) as f32;
            half * half
        });
        let code = |(number, place): (usize, &[f32; 2])| {
            let axis = |axis: usize| spread(bucket(place[axis] - low[axis], widths[axis]));
            (axis(0) | axis(1) << 1, number as u32)
        };
        places.par_iter().enumerate().with_min_len(MIN_POINTS).map(code).collect_into_vec(&mut self.sorted);
        self.sorted.par_sort_unstable();
        let points = Points { places, sorted: &self.sorted, half_widths_squared: &half_widths_squared };

        let task_points = (places.len() / TASK_SHARE).max(TASK_POINTS) as u32;
        let all = (0, places.len() as u32);
        let tasks = self.top.divide(points, all, |(start, end)| end - start <= task_points);
        self.branches.resize_with(tasks.len(), Branch::default);
        self.branches.par_iter_mut().zip(&tasks).with_max_len(1).for_each(|(branch, &task)| {
            branch.divide(points, self.top.ranges[task as usize], |_| false);
            branch.find_centres(points, 0);
        });

        // The root of each branch is a node of the top.
        let n_top = self.top.nodes.len();
        let n_nodes = n_top + self.branches.iter().map(|branch| branch.nodes.len() - 1).sum::<usize>();
        self.nodes.clear();
        self.nodes.resize(n_nodes, Node::default());
        let (top, mut rest) = self.nodes.split_at_mut(n_top);
        let mut copies = Vec::with_capacity(tasks.len());
        let mut start = n_top as u32;
        for (branch, &task) in self.branches.iter().zip(&tasks) {
            self.top.nodes[task as usize] = branch.nodes[0].moved(start - 1);
            let (place, others) = rest.split_at_mut(branch.nodes.len() - 1);
            rest = others;
            copies.push((start - 1, &branch.nodes[1..], place));
            start += branch.nodes.len() as u32 - 1;
        }
        copies.into_par_iter().with_max_len(1).for_each(|(by, nodes, place)| {
            place.iter_mut().zip(nodes).for_each(|(place, node)| *place = node.moved(by));
        });
        self.top.find_centres(points, task_points);
        top.copy_from_slice(&self.top.nodes);
    }

    /// The repulsion from all points but those at the place itself. A square counts as one point if
    /// half of its width is less than `theta` times its distance.
    pub(super) fn repulsion(&self, place: [f32; 2], theta: f32) -> Repulsion {
        let theta_squared = theta * theta;
        let mut found = Repulsion::default();
        let mut open = [0u32; 4 * BITS as usize];
        let mut n_open = 1;
        while n_open > 0 {
            n_open -= 1;
            let node = &self.nodes[open[n_open] as usize];
            let way = [place[0] - node.centre[0], place[1] - node.centre[1]];
            let squared = way[0] * way[0] + way[1] * way[1];
            if node.n_parts == 0 {
                if squared == 0.0 {
                    continue;
                }
            } else if node.half_width_squared >= theta_squared * squared {
                for part in node.first_part..node.first_part + node.n_parts {
                    open[n_open] = part;
                    n_open += 1;
                }
                continue;
            }
            let inverse = (1.0 + squared).recip();
            let amount = node.n_points * inverse;
            found.sum += amount;
            let amount = amount * inverse;
            found.force[0] += amount * way[0];
            found.force[1] += amount * way[1];
        }
        found
    }
}

impl Node {
    /// The same with parts that lie further back.
    fn moved(self, by: u32) -> Self {
        Node { first_part: self.first_part + by, ..self }
    }
}

impl Branch {
    /// Divides a range of the points until nothing is left to divide, or `stops`. Returns the nodes
    /// at which it stopped.
    fn divide(
        &mut self,
        points: Points<'_>,
        whole: (u32, u32),
        stops: impl Fn((u32, u32)) -> bool,
    ) -> Vec<u32> {
        let mut stopped = Vec::new();
        self.nodes.clear();
        self.ranges.clear();
        self.push(whole);
        let mut node = 0;
        while node < self.nodes.len() {
            let range = self.ranges[node];
            let (start, end) = (range.0 as usize, range.1 as usize);
            if stops(range) {
                stopped.push(node as u32);
            } else if end - start > 1 && points.sorted[start].0 != points.sorted[end - 1].0 {
                // The first two bits that differ.
                let differs = points.sorted[start].0 ^ points.sorted[end - 1].0;
                let pair = (u64::BITS - 1 - differs.leading_zeros()) / 2;
                self.nodes[node].half_width_squared = points.half_widths_squared[(BITS - 1 - pair) as usize];
                self.nodes[node].first_part = self.nodes.len() as u32;
                let quarter = |&(code, _): &(u64, u32)| code >> (2 * pair) & 3;
                let mut first = start;
                for part in points.sorted[start..end].chunk_by(|a, b| quarter(a) == quarter(b)) {
                    self.push((first as u32, (first + part.len()) as u32));
                    first += part.len();
                    self.nodes[node].n_parts += 1;
                }
            }
            node += 1;
        }
        stopped
    }

    fn push(&mut self, range: (u32, u32)) {
        self.nodes.push(Node::default());
        self.ranges.push(range);
    }

    /// Finds the centres of the nodes with more points than `known`, parts before wholes.
    fn find_centres(&mut self, points: Points<'_>, known: u32) {
        for node in (0..self.nodes.len()).rev() {
            let (start, end) = self.ranges[node];
            if end - start <= known {
                continue;
            }
            let Node { first_part, n_parts, .. } = self.nodes[node];
            let (mut sum, mut n_points) = ([0.0; 2], 0.0);
            let mut add = |centre: [f32; 2], n: f32| {
                n_points += n;
                sum[0] += n * centre[0];
                sum[1] += n * centre[1];
            };
            if n_parts == 0 {
                let own = &points.sorted[start as usize..end as usize];
                own.iter().for_each(|&(_, number)| add(points.places[number as usize], 1.0));
            } else {
                let parts = &self.nodes[first_part as usize..(first_part + n_parts) as usize];
                parts.iter().for_each(|part| add(part.centre, part.n_points));
            }
            let inverse = f32::recip(n_points);
            let node = &mut self.nodes[node];
            (node.centre, node.n_points) = ([sum[0] * inverse, sum[1] * inverse], n_points);
        }
    }
}

/// The lowest coordinates, and the widths.
fn extent(places: &[[f32; 2]]) -> ([f32; 2], [f32; 2]) {
    let mut ends = ([f32::MAX; 2], [-f32::MAX; 2]);
    for place in places {
        for ((low, high), &x) in ends.0.iter_mut().zip(&mut ends.1).zip(place) {
            (*low, *high) = (low.min(x), high.max(x));
        }
    }
    (ends.0, [ends.1[0] - ends.0[0], ends.1[1] - ends.0[1]])
}

/// A coordinate in 32 bits.
fn bucket(distance: f32, width: f32) -> u32 {
    let scale = if width > 0.0 { (1u64 << BITS) as f32 / width } else { 0.0 };
    let scaled = (distance * scale).floor();
    // Not a number and what is negative become 0, what is too large the greatest number.
    if scaled > 0.0 { scaled as u32 } else { 0 }
}

/// A zero before each bit.
fn spread(number: u32) -> u64 {
    let mut x = u64::from(number);
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x << 2) & 0x3333_3333_3333_3333;
    (x | x << 1) & 0x5555_5555_5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plainly(places: &[[f32; 2]], place: [f32; 2]) -> Repulsion {
        let mut found = Repulsion::default();
        for other in places {
            let way = [place[0] - other[0], place[1] - other[1]];
            let squared = way[0] * way[0] + way[1] * way[1];
            if squared > 0.0 {
                let inverse = 1.0 / (1.0 + squared);
                found.sum += inverse;
                found.force[0] += inverse * inverse * way[0];
                found.force[1] += inverse * inverse * way[1];
            }
        }
        found
    }

    fn is_near(a: f32, b: f32, slack: f32) -> bool {
        (a - b).abs() <= slack * (1.0 + b.abs())
    }

    proptest! {
        #[test]
        fn forces_are_those_of_all_pairs(
            mut places in prop::collection::vec(prop::array::uniform2(-20.0f32..20.0), 1..1500),
            n_same in 0usize..20,
        ) {
            let same = n_same.min(places.len() - 1);
            places.extend_from_within(..same);
            let mut tree = Quadtree::default();
            tree.build(&places[..1]);
            tree.build(&places);
            for &place in places.iter().step_by(37) {
                let expected = plainly(&places, place);
                // Without summaries, up to rounding; with them, nearly.
                for (theta, slack) in [(1e-9, 1e-4), (0.3, 0.2)] {
                    let found = tree.repulsion(place, theta);
                    prop_assert!(is_near(found.sum, expected.sum, slack), "{found:?} {expected:?}");
                    let axes = [0, 1].map(|axis| is_near(found.force[axis], expected.force[axis], slack));
                    prop_assert!(axes == [true; 2], "{found:?} {expected:?}");
                }
            }
        }
    }

    #[test]
    fn points_on_a_line_or_in_one_place_have_a_tree_too() {
        let mut tree = Quadtree::default();
        for step in [0.0, 1.0] {
            // So many that the mean of equal places is that place, to the bit.
            let places: Vec<[f32; 2]> = (0..1024).map(|n| [3.0, n as f32 * step]).collect();
            tree.build(&places);
            let found = tree.repulsion(places[500], 1e-9);
            assert!(is_near(found.sum, plainly(&places, places[500]).sum, 1e-4));
        }
    }
}
