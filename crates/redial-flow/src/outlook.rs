//! What a flow will do, before anything runs: each step's schedule, and how long all of it takes at most.
//!
//! # The worst case
//!
//! Of one task, with `A` attempts that may take `T` each and waits of at most `W₁ … Wₐ₋₁`, that is `A·T + ΣW`, or the
//! `within` of its policy where that is less. Of a map with `n` items in `s` slots it is `(n−1)·A·T/s + A·T + ΣW`, because
//! at any moment its last item is under way itself, or all slots are busy with others (Graham's bound); with a rate, the
//! starts before it are added, and with a breaker the recovery after each attempt but the last, which may hold back all others.
//! A budget only takes attempts away. Of a flow it is the longest chain of steps that need one another. Where more could run
//! at once than there are slots in all, the work of what runs beside a step is added to it, divided by the slots. Of the
//! arms of a branch, the one that takes longest counts.
//!
//! The time of redial itself is not counted, nor that in which it does not run, nor what a command takes to end when its
//! timeout has passed.
//!
//! ```
//! use std::num::NonZeroU32;
//! use std::time::Duration;
//! use redial_flow::notation::read;
//! use redial_flow::outlook::Outlook;
//! use redial_flow::prepared::Prepared;
//! use redial_policy::Format;
//!
//! let text = "
//! flow: greet
//! steps:
//!   who: {run: [id, -un], policy: 'attempts: 3, delay: 1s', timeout: 10s}
//!   hello: {run: [echo, '${who.output}'], timeout: 5s}
//! ";
//! let flow = Prepared::new(read(text, Format::Yaml).definition.unwrap())?;
//! let outlook = Outlook::new(&flow, NonZeroU32::MIN);
//! // Three attempts of 10 s, two waits of 1 s, and then 5 s.
//! assert_eq!(outlook.time, Some(Duration::from_secs(37)));
//! # Ok::<(), redial_flow::prepared::BadDefinition>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::num::NonZeroU32;
use std::time::Duration;

use redial_policy::{Plan, Rules, Timing};
use serde_json::Value as Json;

use crate::Value;
use crate::definition::{Action, Step as Written};
use crate::flow::{NeedKind, Place, Rate, Step, StepId};
use crate::items::Items as Source;
use crate::machine::{Machine, TaskId, WINDOW};
use crate::prepared::{Prepared, ReadyAction, ReadyEach, ReadyOrigin, with_substitutes};

/// More items than this are not counted.
const COUNTED_MAX: u64 = 1_000_000;

/// What a flow will do.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// Its steps, and those that take the place of others, in the order of [`Flow::steps`](crate::flow::Flow::steps).
    pub steps: Vec<StepOutlook>,
    /// How many attempts run at once at most.
    pub slots: NonZeroU32,
    /// How long all of it takes at most; none where a step has no bound. A map of which it is not known how many items it has
    /// is counted with one.
    pub time: Option<Duration>,
    /// Whether that is the flow's own deadline.
    pub is_deadline: bool,
    /// How much each further item of a map adds to that at most, where it is not known how many it has.
    pub further: Vec<(StepId, Duration)>,
    /// The chain of steps that takes longest, in their order.
    pub longest: Vec<StepId>,
    /// The steps without a bound.
    pub unbounded: Vec<StepId>,
}

/// What a step will do.
#[derive(Clone, Debug)]
pub struct StepOutlook {
    /// As it is written down.
    pub step: Written,
    /// The step whose place it takes.
    pub instead_of: Option<StepId>,
    /// The delays of its tasks.
    pub plan: Plan,
    /// The longest delay that its command may ask for, where its rules read one.
    pub asked_max: Option<Duration>,
    /// How many items there are; none for what is no map.
    pub items: Option<ItemCount>,
    /// How far it is from the start: no step that it needs is as far.
    pub level: u32,
    /// How long one task of it takes at most; of a map, one item.
    pub task_time: Option<Duration>,
    /// How long it takes at most, once what it needs is over.
    pub time: Option<Duration>,
}

/// How many items a map has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemCount {
    /// So many.
    Known(u64),
    /// Not more than these.
    AtMost(u64),
    /// It depends on what steps before it say, or on a file that is not there yet.
    Unknown,
}

impl ItemCount {
    fn most(self) -> Option<u64> {
        match self {
            Self::Known(count) | Self::AtMost(count) => Some(count),
            Self::Unknown => None,
        }
    }
}

/// What one task takes at most, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// From its first start to its end.
    time: u128,
    /// While it has a slot.
    work: u128,
    /// How often it starts; none where there is no end to that.
    starts: Option<u128>,
}

/// A step that stands by itself, or a map with its inner steps.
struct Block {
    id: StepId,
    inner: Vec<StepId>,
    needs: Vec<usize>,
    /// The branch that it is an arm of.
    branch: Option<StepId>,
    /// Of one item.
    cost: Option<Cost>,
    items: ItemCount,
}

impl Outlook {
    /// The outlook of a flow that runs with so many slots. Items are counted where their file is there already.
    pub fn new(prepared: &Prepared, slots: NonZeroU32) -> Self {
        let flow = &prepared.flow;
        let written = with_substitutes(&prepared.definition.steps);
        let costs: Vec<Option<Cost>> =
            (0..).zip(&flow.steps).map(|(id, step)| cost(prepared, id, step)).collect();
        let steps: Vec<StepOutlook> = (0..)
            .zip(written)
            .map(|(id, step)| {
                let ready = prepared.step(id);
                let policy = flow.steps[id as usize].policy.clone();
                let asked_max = asks_for_delays(&ready.rules)
                    .then(|| flow.steps[id as usize].limits.get_max_retry_after());
                StepOutlook {
                    step,
                    instead_of: ready.instead_of,
                    plan: Plan::new(policy).timeout(ready.timeout),
                    asked_max,
                    items: match &ready.action {
                        ReadyAction::Each(each) => Some(count(prepared, each)),
                        _ => None,
                    },
                    level: 0,
                    task_time: costs[id as usize].map(|cost| duration(cost.time)),
                    time: None,
                }
            })
            .collect();
        let mut outlook = Self {
            steps,
            slots,
            time: None,
            is_deadline: false,
            further: Vec::new(),
            longest: Vec::new(),
            unbounded: Vec::new(),
        };
        outlook.add_up(prepared, &costs);
        outlook
    }

    /// With the delays of a run with this seed; of a map, those of its first item.
    #[must_use]
    pub fn seed(mut self, prepared: &Prepared, seed: u64) -> Self {
        let machine = Machine::new(prepared.flow.clone(), "", seed);
        for (id, (one, step)) in (0..).zip(self.steps.iter_mut().zip(&prepared.flow.steps)) {
            let item = matches!(step.place, Place::Inside(_)).then_some(0);
            one.plan = one.plan.clone().seed(machine.seed(TaskId { step: id, item }));
        }
        self
    }

    fn add_up(&mut self, prepared: &Prepared, costs: &[Option<Cost>]) {
        let flow = &prepared.flow;
        let blocks = blocks(&flow.steps, costs, &self.steps);
        let order = in_order(&blocks);
        let beside = Beside::new(&blocks, &order);
        let slots = u128::from(self.slots.get());
        let mut ends: Vec<u128> = vec![0; blocks.len()];
        let mut before: Vec<Option<usize>> = vec![None; blocks.len()];
        let mut levels = vec![0_u32; blocks.len()];
        let mut crowded = vec![false; blocks.len()];
        for &at in &order {
            let block = &blocks[at];
            levels[at] = block.needs.iter().map(|need| levels[*need] + 1).max().unwrap_or(0);
            let others = one_arm_each(&blocks, at, beside.of(at));
            let demand = |at: usize| demand(&flow.steps[blocks[at].id as usize], blocks[at].items);
            let wanted =
                others.iter().fold(demand(at), |sum, other| sum.saturating_add(demand(*other)));
            crowded[at] = wanted > slots;
            let work_beside =
                others.iter().map(|other| work(&blocks[*other])).fold(0, u128::saturating_add);
            let own = block.cost.and_then(|cost| {
                let own = time_of(flow.steps.as_slice(), block, cost, costs, slots)?;
                let queue = others_work(block, cost).saturating_add(work_beside) / slots;
                Some(if crowded[at] { own.saturating_add(queue) } else { own })
            });
            self.steps[block.id as usize].time = own.map(duration);
            before[at] = block.needs.iter().copied().max_by_key(|need| ends[*need]);
            let start = before[at].map_or(0, |need| ends[need]);
            ends[at] = start.saturating_add(own.unwrap_or(0));
            for id in block.inner.iter().chain([&block.id]) {
                self.steps[*id as usize].level = levels[at];
                if self.steps[*id as usize].time.is_none() && *id != block.id {
                    self.steps[*id as usize].time = self.steps[*id as usize].task_time;
                }
            }
            if !block.inner.is_empty() {
                self.steps[block.id as usize].task_time =
                    block.cost.map(|cost| duration(cost.time));
            }
        }
        let is_unbounded =
            |id: &StepId| costs[*id as usize].is_none() && !is_map(&flow.steps[*id as usize]);
        self.unbounded = (0..flow.steps.len() as StepId).filter(is_unbounded).collect();
        // Starts without end under a rate have no bound, although each of them has.
        let endless = blocks
            .iter()
            .filter(|block| block.cost.is_some() && self.steps[block.id as usize].time.is_none());
        self.unbounded.extend(endless.map(|block| block.id));
        self.unbounded.sort_unstable();
        let last = (0..blocks.len()).max_by_key(|at| (ends[*at], std::cmp::Reverse(*at)));
        let mut at = last;
        while let Some(block) = at {
            self.longest.push(blocks[block].id);
            at = before[block];
        }
        self.longest.reverse();
        let time = last.map_or(0, |last| ends[last]);
        self.time = self.unbounded.is_empty().then(|| duration(time));
        if self.unbounded.is_empty() {
            for (at, block) in
                blocks.iter().enumerate().filter(|(_, block)| block.items == ItemCount::Unknown)
            {
                let Some(cost) = block.cost else { continue };
                // A chain has this block or blocks beside it, of which no two on a chain are of one level.
                let chain: BTreeSet<u32> = beside
                    .of(at)
                    .filter(|other| crowded[*other])
                    .map(|other| levels[other])
                    .collect();
                let share = cost.work / slots;
                let own = further(flow.steps.as_slice(), block, cost, costs, slots);
                let own = own.saturating_add(if crowded[at] { share } else { 0 });
                let more = own.max(share.saturating_mul(chain.len() as u128));
                self.further.push((block.id, duration(more)));
            }
        }
        let within = prepared.definition.within;
        if let Some(within) = within.filter(|within| {
            self.time.is_none_or(|time| time > *within || !self.further.is_empty())
        }) {
            (self.time, self.is_deadline) = (Some(within), true);
            self.further.clear();
        }
    }
}

fn is_map(step: &Step) -> bool {
    matches!(step.place, Place::Map { .. })
}

/// Whether a delay may be read from what the command prints.
fn asks_for_delays(rules: &Rules) -> bool {
    rules.reads_delays()
}

fn cost(prepared: &Prepared, id: StepId, step: &Step) -> Option<Cost> {
    let ready = prepared.step(id);
    let policy = &step.policy;
    let within = policy.get_within().map(|within| within.as_nanos());
    let asks = asks_for_delays(&ready.rules);
    let starts = match asks {
        // A delay that is asked for may be shorter than the policy's, so that more attempts start.
        true => policy.attempts().map(u128::from),
        false => policy.reachable().map(|delays| u128::from(delays) + 1),
    };
    let timeout = match ready.action {
        // redial itself does this, and at once.
        ReadyAction::WriteFile { .. } | ReadyAction::Branch(_) | ReadyAction::Value(_) => {
            Some(Duration::ZERO)
        }
        _ => ready.timeout,
    };
    let most = |time: u128| within.map_or(time, |within| time.min(within));
    let waits = match asks {
        true => waits_asked(policy, step.limits.get_max_retry_after()),
        false => Plan::new(policy.clone()).wait_bounds().1.map(|wait| wait.as_nanos()),
    };
    match (timeout, starts, waits) {
        (Some(timeout), Some(count), Some(waits)) => {
            let work = timeout.as_nanos().saturating_mul(count);
            Some(Cost { time: most(work.saturating_add(waits)), work: most(work), starts })
        }
        // An attempt is cut where the deadline of its policy passes.
        _ => within.map(|within| Cost { time: within, work: within, starts }),
    }
}

/// The waits where each may be what the policy says or what the command asks for.
fn waits_asked(policy: &Timing, asked_max: Duration) -> Option<u128> {
    const LOOKED_AT: u32 = 4096;
    let retries = policy.attempts()?.saturating_sub(1);
    let sum = match retries {
        0..=LOOKED_AT => policy
            .forecasts()
            .take(retries as usize)
            .map(|delay| delay.greatest.max(asked_max).as_nanos())
            .fold(0, u128::saturating_add),
        // Not less than the greater of the two each time.
        _ => {
            let own = policy.total_of(retries).greatest.as_nanos();
            own.saturating_add(asked_max.as_nanos().saturating_mul(u128::from(retries)))
        }
    };
    Some(policy.get_wait_budget().map_or(sum, |limit| sum.min(limit.as_nanos())))
}

fn blocks(steps: &[Step], costs: &[Option<Cost>], outlooks: &[StepOutlook]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_of = vec![0; steps.len()];
    for (id, step) in (0..).zip(steps) {
        match step.place {
            Place::Inside(map) => block_of[id as usize] = block_of[map as usize],
            Place::Alone | Place::Map { .. } => {
                let inner = match step.place {
                    Place::Map { first, last, .. } => (first..=last).collect(),
                    _ => Vec::new(),
                };
                let cost = match inner.is_empty() {
                    true => costs[id as usize],
                    false => cost_inside(steps, costs, &inner),
                };
                let items = outlooks[id as usize].items.unwrap_or(ItemCount::Known(1));
                block_of[id as usize] = blocks.len();
                let branch = branch_of(step);
                blocks.push(Block { id, inner, needs: Vec::new(), branch, cost, items });
            }
        }
    }
    for (id, step) in steps.iter().enumerate() {
        let own = block_of[id];
        for need in &step.needs {
            let other = block_of[need.step as usize];
            if other != own && !blocks[own].needs.contains(&other) {
                blocks[own].needs.push(other);
            }
        }
    }
    blocks
}

/// The branch that a step is an arm of.
fn branch_of(step: &Step) -> Option<StepId> {
    let need = step.needs.iter().find(|need| need.kind == NeedKind::Taken);
    need.map(|need| need.step)
}

/// Of what may run beside a block, one arm of each branch: that with the most work. A branch takes one arm, so none
/// of them runs beside another.
fn one_arm_each(blocks: &[Block], own: usize, beside: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut others = Vec::new();
    let mut arms: BTreeMap<StepId, usize> = BTreeMap::new();
    for at in beside {
        match blocks[at].branch {
            None => others.push(at),
            branch if branch == blocks[own].branch => {}
            Some(branch) => {
                let most = arms.entry(branch).or_insert(at);
                if work(&blocks[at]) > work(&blocks[*most]) {
                    *most = at;
                }
            }
        }
    }
    others.extend(arms.into_values());
    others
}

/// The steps of an item one after the other; of the arms of a branch, what the longest takes.
fn cost_inside(steps: &[Step], costs: &[Option<Cost>], inner: &[StepId]) -> Option<Cost> {
    let mut arms: BTreeMap<StepId, Option<Cost>> = BTreeMap::new();
    let mut others = Vec::new();
    for id in inner {
        let cost = costs[*id as usize];
        match branch_of(&steps[*id as usize]) {
            None => others.push(cost),
            Some(branch) => {
                let most = arms.entry(branch).or_insert(cost);
                *most = most.zip(cost).map(|(most, cost)| Cost {
                    time: most.time.max(cost.time),
                    work: most.work.max(cost.work),
                    starts: most.starts.zip(cost.starts).map(|(most, cost)| most.max(cost)),
                });
            }
        }
    }
    sum(others.into_iter().chain(arms.into_values()))
}

/// One after the other.
fn sum(mut costs: impl Iterator<Item = Option<Cost>>) -> Option<Cost> {
    costs.try_fold(Cost { starts: Some(0), ..Cost::default() }, |all, cost| {
        let cost = cost?;
        Some(Cost {
            time: all.time.saturating_add(cost.time),
            work: all.work.saturating_add(cost.work),
            starts: all.starts.zip(cost.starts).map(|(all, one)| all.saturating_add(one)),
        })
    })
}

/// What is needed comes first.
fn in_order(blocks: &[Block]) -> Vec<usize> {
    let mut order = Vec::with_capacity(blocks.len());
    let (mut is_met, mut is_done) = (vec![false; blocks.len()], vec![false; blocks.len()]);
    for start in 0..blocks.len() {
        let mut path = vec![(start, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            is_met[at] = true;
            if is_done[at] {
                path.pop();
            } else if let Some(need) = blocks[at].needs.get(*next) {
                *next += 1;
                // A definition that was changed by hand may have a circle.
                if !is_met[*need] {
                    path.push((*need, 0));
                }
            } else {
                is_done[at] = true;
                order.push(at);
                path.pop();
            }
        }
    }
    order
}

/// Which blocks may run at the same time: those of which neither needs the other.
struct Beside {
    /// A bit for each block that comes before.
    earlier: Vec<Vec<u64>>,
}

impl Beside {
    fn new(blocks: &[Block], order: &[usize]) -> Self {
        let words = blocks.len().div_ceil(64);
        let mut earlier = vec![vec![0_u64; words]; blocks.len()];
        for &at in order {
            let mut bits = std::mem::take(&mut earlier[at]);
            for &need in &blocks[at].needs {
                bits.iter_mut().zip(&earlier[need]).for_each(|(bits, more)| *bits |= more);
                bits[need / 64] |= 1 << (need % 64);
            }
            earlier[at] = bits;
        }
        Self { earlier }
    }

    fn needs(&self, one: usize, other: usize) -> bool {
        self.earlier[one][other / 64] & (1 << (other % 64)) != 0
    }

    fn of(&self, at: usize) -> impl Iterator<Item = usize> {
        let others = 0..self.earlier.len();
        others
            .filter(move |other| *other != at && !self.needs(at, *other) && !self.needs(*other, at))
    }
}

/// How many slots a block may take at once.
fn demand(step: &Step, items: ItemCount) -> u128 {
    let own = step.slots.map_or(u128::MAX, |slots| u128::from(slots.get()));
    items.most().map_or(own, |items| own.min(u128::from(items)))
}

/// What all items take in slots.
fn work(block: &Block) -> u128 {
    let items = u128::from(block.items.most().unwrap_or(1));
    block.cost.map_or(0, |cost| cost.work.saturating_mul(items))
}

/// What all items but one take in slots.
fn others_work(block: &Block, cost: Cost) -> u128 {
    cost.work.saturating_mul(u128::from(block.items.most().unwrap_or(1).saturating_sub(1)))
}

fn interval(rate: Rate) -> u128 {
    rate.per.as_nanos().div_ceil(u128::from(rate.count.get()))
}

/// How long a block takes where there are slots enough for all.
fn time_of(
    steps: &[Step],
    block: &Block,
    cost: Cost,
    costs: &[Option<Cost>],
    slots: u128,
) -> Option<u128> {
    let items = u128::from(block.items.most().unwrap_or(1));
    if items == 0 {
        return Some(0);
    }
    let mut time = cost.time;
    for id in block.inner.iter().chain([&block.id]) {
        let step = &steps[*id as usize];
        let of_step = if *id == block.id { cost } else { costs[*id as usize]? };
        let own = step.slots.map(|own| u128::from(own.get())).filter(|own| *own < slots);
        let queue = own.map_or(0, |own| of_step.work.saturating_mul(items - 1) / own);
        let pace = match step.rate {
            // Each start but the first waits for its turn.
            Some(rate) => of_step
                .starts?
                .saturating_mul(items)
                .saturating_sub(1)
                .saturating_mul(interval(rate)),
            None => 0,
        };
        let held = match step.breaker {
            // Each attempt but the last may open it for all others. One task by itself is not held back: it gives up, or
            // its wait outlasts the recovery.
            Some(breaker) if !block.inner.is_empty() => of_step
                .starts?
                .saturating_mul(items)
                .saturating_sub(1)
                .saturating_mul(breaker.recovery.as_nanos()),
            _ => 0,
        };
        time = time.saturating_add(queue).saturating_add(pace).saturating_add(held);
    }
    // Beyond the window, an item waits for one to be over, also where that waits itself.
    let window = u128::from(WINDOW);
    let places = if items > window { cost.time.saturating_mul(items - 1) / window } else { 0 };
    Some(time.saturating_add(places))
}

/// What one more item adds where there are slots enough for all.
fn further(steps: &[Step], block: &Block, cost: Cost, costs: &[Option<Cost>], slots: u128) -> u128 {
    let mut more = 0_u128;
    for id in block.inner.iter().chain([&block.id]) {
        let step = &steps[*id as usize];
        let of_step = if *id == block.id { Some(cost) } else { costs[*id as usize] };
        let of_step = of_step.unwrap_or_default();
        let own = step.slots.map(|own| u128::from(own.get())).filter(|own| *own < slots);
        more = more.saturating_add(own.map_or(0, |own| of_step.work / own));
        let apart = step.rate.map(interval).unwrap_or(0);
        let held = step.breaker.map_or(0, |breaker| breaker.recovery.as_nanos());
        let each_start = apart.saturating_add(held);
        more = more.saturating_add(of_step.starts.unwrap_or(0).saturating_mul(each_start));
    }
    more
}

fn duration(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The items of a map as far as they are there before anything runs. What is wrong with them is told when they are read.
fn count(prepared: &Prepared, each: &ReadyEach) -> ItemCount {
    let most = each.selection.max_items;
    let unknown = most.map_or(ItemCount::Unknown, ItemCount::AtMost);
    let inputs = Json::Object(prepared.definition.inputs.clone().into_iter().collect());
    let values: BTreeMap<String, Value> = [("inputs".to_owned(), inputs.into())].into();
    let selection = each.selection.clone();
    let counted = match &each.origin {
        ReadyOrigin::Once(_) => Some(1),
        ReadyOrigin::Stdin => None,
        ReadyOrigin::File(path) => {
            let path = path.argument(&values).ok().and_then(|path| String::from_utf8(path).ok());
            let file = path.and_then(|path| File::open(path).ok());
            // A pipe can be read once.
            let file = file.filter(|file| file.metadata().is_ok_and(|file| file.is_file()));
            file.map(|file| {
                let items = selection.of(Source::new(file, each.format.clone()));
                items.take(COUNTED_MAX as usize + 1).filter(Result::is_ok).count() as u64
            })
        }
        ReadyOrigin::Value(template) => match template.value(&values) {
            Ok(Value::Json(Json::Array(items))) if is_plain(each) => Some(items.len() as u64),
            _ => None,
        },
    };
    match counted {
        Some(count) if count <= COUNTED_MAX => ItemCount::Known(count),
        _ => unknown,
    }
}

/// Whether all items are taken.
fn is_plain(each: &ReadyEach) -> bool {
    let one = &each.selection;
    one.filter.is_none() && one.distinct.is_none() && one.offset == 0 && one.max_items.is_none()
}

/// Whether a step runs a command.
pub fn is_command(step: &Written) -> bool {
    matches!(step.action, Action::Run { .. } | Action::Shell(_))
}
