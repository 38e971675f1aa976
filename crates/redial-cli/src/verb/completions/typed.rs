//! A line of bash as it was typed, up to the cursor.

/// The words of a line, and how its last word is quoted where it stops.
#[derive(Debug, PartialEq)]
pub(super) struct Typed {
    /// Without their quotes. The last one is being typed, and may be empty.
    pub(super) words: Vec<String>,
    quote: Quote,
    /// The line ends with a backslash that escapes nothing yet.
    has_backslash: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Quote {
    None,
    Single,
    Double,
}

impl Typed {
    /// Reads a line of simple words; none where it ends within a redirection, an expansion or the like.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let (mut quote, mut has_backslash) = (Quote::None, false);
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            let text = || word.clone().unwrap_or_default();
            match (quote, letter) {
                (Quote::None, '\'') => (quote, word) = (Quote::Single, Some(text())),
                (Quote::None, '"') => (quote, word) = (Quote::Double, Some(text())),
                (Quote::Single, '\'') | (Quote::Double, '"') => quote = Quote::None,
                (Quote::None | Quote::Double, '$' | '`') => return None,
                (Quote::None, ';' | '|' | '&' | '<' | '>' | '(' | ')') => return None,
                (Quote::None, letter) if letter.is_ascii_whitespace() => words.extend(word.take()),
                (Quote::None | Quote::Double, '\\') => match letters.peek() {
                    None => has_backslash = true,
                    // Within double quotes, a backslash before another letter stands for itself.
                    Some(next) if quote == Quote::Double && !"\\\"$`\n".contains(*next) => {
                        word.get_or_insert_default().push('\\');
                    }
                    Some(_) => word.get_or_insert_default().extend(letters.next()),
                },
                (_, letter) => word.get_or_insert_default().push(letter),
            }
        }
        words.push(word.unwrap_or_default());
        Some(Self { words, quote, has_backslash })
    }

    /// What takes the place of the end of the line so that the last word is this one. `replaced` is the part that bash
    /// would replace: its words end at each `:` and `=`, and it closes an open quote by itself.
    pub(super) fn completed(&self, word: &str, replaced: &str) -> Option<String> {
        let rest = word.strip_prefix(self.words.last()?.as_str())?;
        let replaced = match self.has_backslash {
            true => replaced.strip_suffix('\\')?,
            false => replaced,
        };
        let rest: String = rest.chars().map(|letter| self.escaped(letter)).collect();
        Some(format!("{replaced}{rest}"))
    }

    fn escaped(&self, letter: char) -> String {
        let is_plain = letter.is_alphanumeric() || "@%_-+=:,./".contains(letter);
        match self.quote {
            Quote::None if is_plain => letter.into(),
            Quote::None => format!("\\{letter}"),
            Quote::Single if letter == '\'' => r"'\''".into(),
            Quote::Single => letter.into(),
            // A backslash would stay: only outside of quotes does it keep `!` from history expansion.
            Quote::Double if letter == '!' => r#""\!""#.into(),
            Quote::Double if "\\\"$`".contains(letter) => format!("\\{letter}"),
            Quote::Double => letter.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, replaced: &str, word: &str, expected: &str) {
        let typed = Typed::read(line).unwrap();
        assert_eq!(typed.completed(word, replaced).as_deref(), Some(expected), "{typed:?}");
    }

    #[test]
    fn a_line_is_read_as_bash_reads_it() {
        let words = |line| Typed::read(line).map(|typed| typed.words);
        let are = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(words("redial flow status "), are(&["redial", "flow", "status", ""]));
        assert_eq!(words(r#"a 'b c' "d\"e\f" g\ h''"#), are(&["a", "b c", "d\"e\\f", "g h"]));
        assert_eq!(words("a 'b c"), are(&["a", "b c"]));
        assert_eq!(words(""), are(&[""]));
        for line in ["a $b", "a `b`", "a >", "a; b", "a \"$b"] {
            assert_eq!(words(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_left_of_a_word_is_quoted_as_its_beginning_is() {
        check("r a", "a", "a b's", r"a\ b\'s");
        check("r 'a", "a", "a b's!", r"a b'\''s!");
        check("r \"a", "a", "a $b\"c!", r#"a \$b\"c"\!""#);
        check("r http:", "", "http://a/?b=1", r"//a/\?b=1");
        check(r"r a\", r"a\", "a b", r"a\ b");
        check("r ", "", "größe~1", r"größe\~1");
        assert_eq!(Typed::read("r b").unwrap().completed("a", "b"), None);
    }
}
