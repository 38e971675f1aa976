//! A terminal that breaks its lines anew when its window changes, as most do today; what `vt100` models cuts them.

/// As far as redial writes to one: text, `\r`, `\n`, and what erases.
pub(crate) struct Reflowing {
    /// Each as long as it is, however many rows that takes.
    lines: Vec<Vec<char>>,
    line: usize,
    column: usize,
    width: usize,
    /// The cursor stands on the last column, and what comes next goes to the next row.
    is_full: bool,
    wraps: bool,
}

impl Reflowing {
    pub(crate) fn new(width: usize) -> Self {
        Self { lines: vec![vec![]], line: 0, column: 0, width, is_full: false, wraps: true }
    }

    /// The cursor stays on the character that it is on.
    pub(crate) fn resize(&mut self, width: usize) {
        self.width = width;
        self.is_full = false;
    }

    pub(crate) fn process(&mut self, bytes: &[u8]) {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            match c {
                '\x1b' => {
                    let is_end = |c: &char| c.is_ascii_alphabetic();
                    let mut sequence = String::new();
                    while !sequence.chars().last().as_ref().is_some_and(is_end) {
                        sequence.push(characters.next().expect("a whole sequence"));
                    }
                    self.steer(&sequence);
                }
                '\r' => {
                    self.column -= self.column % self.width;
                    self.is_full = false;
                }
                '\n' => self.feed(),
                c => self.print(c),
            }
        }
    }

    fn steer(&mut self, sequence: &str) {
        match sequence {
            "[J" => {
                self.lines[self.line].truncate(self.column);
                self.lines.truncate(self.line + 1);
            }
            "[K" => {
                let end = (self.column / self.width + 1) * self.width;
                let line = &mut self.lines[self.line];
                match line.len() {
                    length if length <= end => line.truncate(self.column),
                    _ => line[self.column..end].fill(' '),
                }
            }
            "[?7l" => self.wraps = false,
            "[?7h" => self.wraps = true,
            style if style.ends_with('m') => {}
            other => panic!("redial does not write {other:?}"),
        }
    }

    /// To the next row, which is one of the same line where that has more.
    fn feed(&mut self) {
        self.is_full = false;
        let next = (self.column / self.width + 1) * self.width;
        if next < self.lines[self.line].len() {
            self.column += self.width;
            return;
        }
        self.column %= self.width;
        self.line += 1;
        if self.line == self.lines.len() {
            self.lines.push(vec![]);
        }
    }

    fn print(&mut self, c: char) {
        if self.is_full && self.wraps {
            self.column += 1;
        }
        let line = &mut self.lines[self.line];
        line.resize(line.len().max(self.column + 1), ' ');
        line[self.column] = c;
        self.is_full = (self.column + 1).is_multiple_of(self.width);
        self.column += usize::from(!self.is_full);
    }

    /// The lines without what is blank at their ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
        let mut lines: Vec<_> = self.lines.iter().map(text).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}
