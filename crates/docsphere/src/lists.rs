//! Lists that several tasks make, put one after the other, and lists of groups, cut into tasks.

use std::ops::Range;

use rayon::prelude::*;

/// Longer lists are copied on all threads.
const ALONE: usize = 1 << 14;

/// One list of all items, in order.
pub(crate) fn concatenated<T: Copy + Default + Send + Sync>(parts: &[Vec<T>]) -> Vec<T> {
    let len = parts.iter().map(Vec::len).sum();
    if len <= ALONE {
        return parts.concat();
    }
    // Threads, not the allocator, are the first to touch the memory.
    let mut whole: Vec<T> = (0..len).into_par_iter().with_min_len(ALONE).map(|_| T::default()).collect();
    let mut places = Vec::with_capacity(parts.len());
    let mut rest = &mut whole[..];
    for part in parts {
        let (place, others) = rest.split_at_mut(part.len());
        rest = others;
        places.push(place);
    }
    places.into_par_iter().zip(parts).for_each(|(place, part)| place.copy_from_slice(part));
    whole
}

/// The range of a task in a list that is cut into tasks of about `size` items, so that groups,
/// which are neighbours, stay whole. All tasks up to `n_tasks(list, size)` cover the list.
pub(crate) fn task_range<T>(
    list: &[T],
    task: usize,
    size: usize,
    is_group: impl Fn(&T, &T) -> bool,
) -> Range<usize> {
    let start = |task: usize| {
        let wanted = (task * size).min(list.len());
        let Some(before) = wanted.checked_sub(1) else { return 0 };
        wanted + list[wanted..].iter().take_while(|item| is_group(&list[before], item)).count()
    };
    start(task)..start(task + 1)
}

/// The number of tasks of about `size` items.
pub(crate) fn n_tasks<T>(list: &[T], size: usize) -> usize {
    list.len().div_ceil(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tasks_cover_a_list_and_leave_groups_whole(
            lengths in prop::collection::vec(1usize..9, 0..20),
            size in 1usize..6,
        ) {
            let groups = lengths.iter().enumerate();
            let list: Vec<usize> = groups.flat_map(|(group, &n)| std::iter::repeat_n(group, n)).collect();
            let mut end = 0;
            for task in 0..n_tasks(&list, size) {
                let range = task_range(&list, task, size, |a, b| a == b);
                prop_assert_eq!(range.start, end);
                end = range.end;
                prop_assert!(end == list.len() || end == 0 || list[end - 1] != list[end]);
            }
            prop_assert_eq!(end, list.len());
        }
    }

    #[test]
    fn nothing_is_lost_and_the_order_stays() {
        for n_parts in [0, 1, 7, 300] {
            let parts: Vec<Vec<u32>> = (0..n_parts).map(|part| (0..part * 3 % 701).collect()).collect();
            assert_eq!(concatenated(&parts), parts.concat());
        }
    }
}
