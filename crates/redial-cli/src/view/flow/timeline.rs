//! The attempts of a run on one axis of time: a row for each task, under the name of its step.

use redial_flow::history::{Attempt, History, Task, TaskState};
use redial_flow::record::Outcome;

use super::words::{self, nanos};
use crate::view::axis::{self, Axis, Range, Scale, Tick};
use crate::view::svg::{Anchor, Area, Canvas, Drawing, LINE, Look, MARGIN, Place, Sign, Size};

pub(super) const TITLE: &str = "What ran when";

/// The style of what only a timeline has. Outcomes differ by their form, too: what succeeded is solid, what failed is
/// hollow, and what was lost or cut has dashes.
const STYLE: &str = "\
.redial-picture .span{fill:var(--colour);stroke:var(--colour)}\
.redial-picture .well{--colour:var(--colour-3)}\
.redial-picture .failed{--colour:var(--limit);fill-opacity:.25}\
.redial-picture .timeout{--colour:var(--colour-2);fill-opacity:.25;stroke-dasharray:4 2}\
.redial-picture .lost{--colour:var(--muted);fill-opacity:.12;stroke-dasharray:2 2}\
.redial-picture .under-way{--colour:var(--colour-1);fill-opacity:.3}\
.redial-picture .wait{stroke:var(--muted);fill:none}\
.redial-picture .queue{stroke:var(--muted);fill:none;stroke-dasharray:1 3}\
.redial-picture .dead{fill:var(--limit);stroke:var(--paper)}";

/// The tasks in one picture.
pub(super) fn drawing(history: &History, tasks: &[&Task], size: Size) -> Drawing {
    let mut canvas = Canvas::titled(size, TITLE);
    canvas.push(&format!("<style>{STYLE}</style>"));
    if let Some(plot) = Plot::new(history, tasks, size) {
        plot.draw(history, tasks, &mut canvas);
    }
    let words = words::tasks(&history.counts, &history.state);
    canvas.finish(format!("{TITLE} in {}", history.run), format!("{words}."))
}

/// Whether there is anything to draw.
pub(super) fn has_picture(history: &History, tasks: &[&Task]) -> bool {
    Plot::new(history, tasks, Size::WIDE).is_some()
}

/// Where things are drawn.
struct Plot {
    axis: Range,
    left: f64,
    right: f64,
    ticks: Vec<Tick>,
    /// Where the time ends.
    end: u64,
}

/// How high a row is, and a bar in it.
const ROW: f64 = 18.0;
const BAR: f64 = 10.0;

/// With more rows than this, the times stand above them, too: the axis is a screen away.
const TALL: usize = 30;

impl Plot {
    /// None where no time has passed.
    fn new(history: &History, tasks: &[&Task], size: Size) -> Option<Self> {
        if tasks.is_empty() {
            return None;
        }
        let due = tasks.iter().filter_map(|task| task.due_ns).filter(|_| is_open(history));
        let end = due.max().unwrap_or(0).max(history.time_ns);
        let axis = Range::between(Scale::Time, 0.0, end as f64)?;
        let left = MARGIN + if size.beside { 160.0 } else { 96.0 };
        let area = Area { left, right: size.width - MARGIN - 8.0, top: 0.0, bottom: 0.0 };
        Some(Self { axis, left, right: area.right, ticks: axis.ticks_in(area, size), end })
    }

    fn area(&self, top: f64, bottom: f64) -> Area {
        Area { left: self.left, right: self.right, top, bottom }
    }

    fn x(&self, moment: u64) -> f64 {
        self.area(0.0, 0.0).x(self.axis.moment(moment))
    }

    fn draw(&self, history: &History, tasks: &[&Task], canvas: &mut Canvas) {
        if tasks.len() > TALL {
            self.times(canvas);
        }
        let mut at = 0;
        while let Some(first) = tasks.get(at) {
            let of_step = tasks[at..].iter().take_while(|task| task.step == first.step).count();
            self.step(history, &tasks[at..at + of_step], canvas);
            at += of_step;
        }
        let bottom = canvas.y + 6.0;
        let words = Axis::new("time since the run began", Scale::Time).words();
        axis::draw(canvas, self.area(bottom, bottom), &self.ticks, &words);
        canvas.y += LINE;
        canvas.legend(&signs(history, tasks));
    }

    fn times(&self, canvas: &mut Canvas) {
        canvas.y += LINE;
        for tick in &self.ticks {
            let x = self.area(0.0, 0.0).x(tick.position);
            let place = Place { x, y: canvas.y - 4.0, anchor: Anchor::Middle };
            canvas.text(place, "muted", &tick.label);
        }
    }

    /// The rows of a step: of one in a map, its items under its name; of any other, one row that its name begins, with
    /// the weight and at the place of the names above items, so that it is not taken for one of them.
    fn step(&self, history: &History, tasks: &[&Task], canvas: &mut Canvas) {
        let step = history.step(tasks[0]);
        let is_alone = tasks.len() == 1 && tasks[0].item.is_none();
        canvas.y += 4.0;
        if !is_alone {
            canvas.y += LINE;
            let place = Place { x: MARGIN, y: canvas.y - 4.0, anchor: Anchor::Start };
            // Bold letters are wider than they are measured.
            canvas.clipped(place, "heading", &step.name, canvas.size.inner() / 1.3);
        }
        let (top, bottom) = (canvas.y, canvas.y + ROW * tasks.len() as f64);
        for (from, to) in &history.stopped {
            let (from, to) = (self.x(*from), self.x(*to));
            canvas.rectangle((from, top), (to - from, bottom - top), "band");
        }
        for tick in &self.ticks {
            let x = self.area(top, bottom).x(tick.position);
            canvas.line((x, top), (x, bottom), "grid");
        }
        for task in tasks {
            self.row(history, task, canvas);
            canvas.y += ROW;
        }
    }

    fn row(&self, history: &History, task: &Task, canvas: &mut Canvas) {
        let middle = canvas.y + ROW / 2.0;
        let room = self.left - 10.0 - MARGIN;
        let place = |x, anchor| Place { x, y: middle + 4.0, anchor };
        match task.item {
            Some(_) => {
                let place = place(self.left - 10.0, Anchor::End);
                canvas.clipped_before(place, "", &history.name(task), room);
            }
            None => {
                let place = place(MARGIN, Anchor::Start);
                canvas.clipped(place, "heading", &history.name(task), room / 1.3);
            }
        }
        let mut left_out = task.attempts_left_out;
        for (at, attempt) in task.attempts.iter().enumerate() {
            let next = task.attempts.get(at + 1);
            // There are attempts between these two that are not kept.
            let is_gap = left_out > 0 && at + 1 == task.attempts.len() / 2;
            if is_gap {
                left_out = 0;
            }
            let until = next.map_or_else(|| self.until(history, task), |next| Some(next.start_ns));
            if let Some(until) = until.filter(|_| !is_gap) {
                self.wait(history, attempt, until, middle, canvas);
            }
            self.attempt(history, task, attempt, middle, canvas);
        }
        if task.state == TaskState::Dead {
            let at = self.x(task.ended_ns.unwrap_or(self.end)).min(self.right);
            let why = format!("{} gave up: {}", history.name(task), words::why(task));
            canvas.begin("", &why);
            canvas.path(&Look::of(6).mark((at, middle)), "dead");
            canvas.end();
        }
    }

    /// Until when a task waits that has no further attempt yet.
    fn until(&self, history: &History, task: &Task) -> Option<u64> {
        let due = task.due_ns.filter(|_| is_open(history)).unwrap_or(0);
        (task.state == TaskState::Waiting).then(|| due.max(history.time_ns))
    }

    /// A thin line until the next attempt: whole while the delay lasts, dotted while it waits for a slot.
    fn wait(&self, history: &History, attempt: &Attempt, until: u64, y: f64, canvas: &mut Canvas) {
        // One that was lost ended with its process; what follows it was decided when another went on.
        let decided = attempt.decided.as_ref().map_or(0, |decided| decided.at_ns);
        let end = attempt.end_ns(history.time_ns).max(decided);
        let due = attempt.decided.as_ref().and_then(|decided| decided.due_ns).unwrap_or(end);
        let due = due.clamp(end, until.max(end));
        let delay = attempt.decided.as_ref().and_then(|decided| decided.delay_ns).unwrap_or(0);
        let mut words = format!("waits {} after attempt {}", nanos(delay), attempt.number);
        if until > due {
            words += &format!(", and {} for a slot", nanos(until - due));
        }
        canvas.begin("", &words);
        let line = |from: u64, to: u64| format!("M{:.1} {y:.1}H{:.1}", self.x(from), self.x(to));
        if due > end {
            canvas.path(&line(end, due), "wait");
        }
        if until > due {
            canvas.path(&line(due, until), "queue");
        }
        canvas.end();
    }

    fn attempt(
        &self,
        history: &History,
        task: &Task,
        attempt: &Attempt,
        y: f64,
        canvas: &mut Canvas,
    ) {
        const LEAST: f64 = 1.5;
        let (from, to) = (self.x(attempt.start_ns), self.x(attempt.end_ns(history.time_ns)));
        // What is too short to be seen is drawn all the same, inside of the axis.
        let from = from.min(self.right - LEAST);
        canvas.begin("", &sentence(history, task, attempt));
        let size = ((to - from).max(LEAST), BAR);
        canvas.rectangle((from, y - BAR / 2.0), size, &format!("span {}", class(attempt)));
        canvas.end();
    }
}

/// Whether a process works on the run, so that what waits will start.
fn is_open(history: &History) -> bool {
    history.state.holder().is_some()
}

fn class(attempt: &Attempt) -> &'static str {
    match attempt.ended.as_ref().map(|ended| ended.outcome) {
        None => "under-way",
        Some(Outcome::Succeeded) => "well",
        Some(Outcome::Timeout) => "timeout",
        Some(Outcome::Lost | Outcome::Cancelled) => "lost",
        Some(_) => "failed",
    }
}

/// The text of an attempt, with its values.
fn sentence(history: &History, task: &Task, attempt: &Attempt) -> String {
    let name = match task.item {
        Some(_) => format!("{} of {}", history.step(task).name, history.name(task)),
        None => history.name(task),
    };
    let happened = attempt.ended.as_ref().map_or("running".into(), |ended| ended.what());
    let took = nanos(attempt.end_ns(history.time_ns) - attempt.start_ns);
    let start = nanos(attempt.start_ns);
    let next = match words::decision(attempt).as_str() {
        "" => String::new(),
        decision => format!("; {decision}"),
    };
    format!("{name}, attempt {}: {happened} after {took}, started at {start}{next}", attempt.number)
}

/// The legend of what is drawn.
fn signs(history: &History, tasks: &[&Task]) -> Vec<(Sign, &'static str)> {
    let attempts = || tasks.iter().flat_map(|task| &task.attempts);
    let has = |name: &str| attempts().any(|attempt| class(attempt) == name);
    let mut signs = Vec::new();
    let spans = [
        ("span well", "succeeded"),
        ("span failed", "failed"),
        ("span timeout", "timed out"),
        ("span lost", "lost or cancelled"),
        ("span under-way", "running"),
    ];
    for (class, words) in spans {
        if has(class.trim_start_matches("span ")) {
            signs.push((Sign::Span(class), words));
        }
    }
    if attempts().any(|attempt| attempt.decided.is_some()) {
        signs.push((Sign::Thread("wait"), "waits for its delay"));
        signs.push((Sign::Thread("queue"), "waits for a slot"));
    }
    if tasks.iter().any(|task| task.state == TaskState::Dead) {
        signs.push((Sign::Cross("dead"), "gave up"));
    }
    if !history.stopped.is_empty() {
        signs.push((Sign::Band, "no process worked on it"));
    }
    signs
}
