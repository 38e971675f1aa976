//! How much memory a million items take. A program of its own, because it counts all that is allocated.
#![expect(unsafe_code, reason = "an allocator that counts is an allocator")]
#![expect(clippy::print_stdout, reason = "the figures, for who asks with --nocapture")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use redial_flow::{FieldPath, Format, Items, JsonPath, KeyBy, Keys, Selection, SortBy, Value};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most that `work` had at once, beyond what was there.
fn peak(work: impl FnOnce()) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed) - before
}

/// A source that is made while it is read.
struct Made<F> {
    part: F,
    next: u64,
    ready: Vec<u8>,
    given: usize,
}

fn made<F: Fn(u64) -> Option<String>>(part: F) -> Made<F> {
    Made { part, next: 0, ready: Vec::new(), given: 0 }
}

impl<F: Fn(u64) -> Option<String>> Read for Made<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            let Some(part) = (self.part)(self.next) else { return Ok(0) };
            (self.ready, self.given) = (part.into_bytes(), 0);
            self.next += 1;
        }
        let rest = &self.ready[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

const MILLION: u64 = 1_000_000;

#[test]
fn a_million_items_fit_into_little_memory() {
    // Sources: a fixed buffer, whatever comes through it.
    let line = |n: u64| (n < 50_000).then(|| format!("/some/where/in/a/tree/{n}.png\n"));
    let object = |n: u64| {
        let name = "a name that is somewhat longer";
        (n < 50_000).then(|| format!("{{\"id\": {n}, \"name\": \"{name}\"}}\n"))
    };
    let document = move |n: u64| match n {
        0 => Some("{\"head\": [1, 2], \"items\": [".to_owned()),
        50_001 => Some("], \"tail\": {}}".to_owned()),
        n => object(n - 1).map(|item| if n == 1 { item } else { format!(", {item}") }),
    };
    let row = |n: u64| (n < 50_000).then(|| format!("{n},\"text {n}\"\n"));
    let one_line = |n: u64| (n < 50_000).then(|| "no end to it ".repeat(10));
    let endless_quote = |n: u64| {
        (n < 50_000).then(|| if n == 0 { "a,b\n1,\"".to_owned() } else { "no end\n".repeat(10) })
    };
    let path = || Format::Json(Some(JsonPath::parse("$.items[*]").unwrap()));
    let csv = || Format::Csv { delimiter: b',' };
    let count = |items: &mut dyn Iterator<Item = bool>| items.filter(|right| *right).count();
    let cases: [(&str, usize, usize, Box<dyn Fn() -> usize>); 6] = [
        (
            "lines",
            50_000,
            128 << 10,
            Box::new(move || {
                count(&mut Items::new(made(line), Format::Lines).map(|item| item.is_ok()))
            }),
        ),
        (
            "JSON lines",
            50_000,
            128 << 10,
            Box::new(move || {
                count(&mut Items::new(made(object), Format::JsonLines).map(|item| item.is_ok()))
            }),
        ),
        (
            "a document",
            50_000,
            128 << 10,
            Box::new(move || {
                count(&mut Items::new(made(document), path()).map(|item| item.is_ok()))
            }),
        ),
        (
            "rows",
            49_999,
            128 << 10,
            Box::new(move || count(&mut Items::new(made(row), csv()).map(|item| item.is_ok()))),
        ),
        // A line of 6.5 MB, and a quote that is open for 3.5 MB: what is kept grows by doubling up to 1 MiB.
        (
            "one line",
            0,
            4 << 20,
            Box::new(move || {
                count(&mut Items::new(made(one_line), Format::Lines).map(|item| item.is_ok()))
            }),
        ),
        (
            "a quote",
            0,
            4 << 20,
            Box::new(move || {
                count(&mut Items::new(made(endless_quote), csv()).map(|item| item.is_ok()))
            }),
        ),
    ];
    for (name, wanted, most, read) in cases {
        let mut found = 0;
        let bytes = peak(|| found = read());
        println!("{name}: {bytes} bytes at most");
        assert_eq!(found, wanted, "{name}");
        assert!(bytes <= most, "{name}: {bytes} bytes");
    }

    // Keys, growing: the peak counts, with what growing needs, and at every size.
    let mut keys = Keys::new(KeyBy::Content, 1);
    let bytes = peak(|| {
        for n in 1..=MILLION {
            keys.key(&Value::Json(n.into())).unwrap();
            if n >= 100_000 && n % 10_000 == 0 {
                let held = keys.index().bytes();
                assert!(held <= 19 * n as usize, "{held} bytes for {n}");
            }
        }
    });
    println!("a million keys: {} bytes, {bytes} at most", keys.bytes());
    assert_eq!(keys.index().len() as u64, MILLION);
    assert!(bytes <= 20 * MILLION as usize, "{bytes} bytes");
    drop(keys);
    for (name, every) in [("each twice", 2), ("a thousand of each", 1000)] {
        let mut keys = Keys::new(KeyBy::Content, 1);
        let bytes =
            peak(|| (0..100_000).for_each(|n| drop(keys.key(&Value::Json((n / every).into())))));
        println!("a hundred thousand keys, {name}: {bytes} at most");
        assert_eq!(keys.index().len(), 100_000);
        assert!(bytes <= 20 * 100_000, "{name}: {bytes} bytes");
    }

    // Selections.
    let id = || FieldPath::parse("id").unwrap();
    let distinct = Selection { distinct: Some(id()), ..Selection::default() };
    let first = Selection {
        sort_by: Some(SortBy::parse("id DESC").unwrap()),
        max_items: Some(100),
        ..Selection::default()
    };
    for (name, selection, most) in
        [("distinct", distinct, 20 * 50_000 + (256 << 10)), ("sort_by", first, 1 << 20)]
    {
        let items = Items::new(made(object), Format::JsonLines);
        let bytes = peak(|| assert!(selection.of(items).all(|item| item.is_ok())));
        println!("{name}: {bytes} bytes at most");
        assert!(bytes <= most, "{name}: {bytes} bytes");
    }
}
