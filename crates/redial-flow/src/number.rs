//! Numbers as they are written: `1.50`, `12345678901234567890123`.
//!
//! A number of serde_json is 64 bits, so `1.50` would come out as `1.5` and the digits of a long one would be lost. Its feature
//! `arbitrary_precision` keeps them, but for every crate of a program at once: with it, serde's `flatten` and `untagged` find a map
//! where a number is. So a number that 64 bits do not hold as it is written is, in memory and nowhere else, an object with one field
//! whose name begins with NUL. [`read`] makes it, [`text`] writes the number again, and whoever looks at a value asks [`of`].

use std::borrow::Cow;
use std::cmp::Ordering;

use memchr::memmem;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

const NAME: &str = "\0number";
/// How such an object begins in compact JSON. No string has it inside: there, its quotes have backslashes.
const BEGIN: &[u8] = br#"{"\u0000number":""#;
const END: &[u8] = br#""}"#;

/// Reads JSON, with each number as it is written.
pub(crate) fn read(bytes: &[u8]) -> serde_json::Result<Json> {
    // What is wrong is told of the text as it is.
    read_long(bytes).map_or_else(|| serde_json::from_slice(bytes), Ok)
}

/// The same of JSON that has a number which 64 bits do not hold as it is written.
pub(crate) fn read_long(bytes: &[u8]) -> Option<Json> {
    serde_json::from_slice(&marked(bytes)?).ok()
}

/// Compact JSON, with each number as it was written.
pub(crate) fn text(json: &Json) -> String {
    let text = json.to_string();
    let mut rest = text.as_str();
    let mut whole = String::new();
    while let Some(at) = memmem::find(rest.as_bytes(), BEGIN) {
        let (before, from) = (&rest[..at], &rest[at + BEGIN.len()..]);
        let Some(end) = memmem::find(from.as_bytes(), END) else { break };
        whole += before;
        match is_number(&from.as_bytes()[..end]) {
            true => whole += &from[..end],
            false => whole += &rest[at..at + BEGIN.len() + end + END.len()],
        }
        rest = &from[end + END.len()..];
    }
    if whole.is_empty() && rest.len() == text.len() { text } else { whole + rest }
}

/// The number that a value is, as it is written.
pub(crate) fn of(json: &Json) -> Option<Cow<'_, str>> {
    match json {
        Json::Number(number) => Some(Cow::Owned(number.to_string())),
        Json::Object(fields) => of_fields(fields).map(Cow::Borrowed),
        _ => None,
    }
}

/// The same of the fields of an object.
pub(crate) fn of_fields(fields: &serde_json::Map<String, Json>) -> Option<&str> {
    if fields.len() != 1 {
        return None;
    }
    let text = fields.get(NAME)?.as_str()?;
    is_number(text.as_bytes()).then_some(text)
}

/// For serde: a value, with each number as it was written.
pub(crate) fn serialize<S: Serializer>(json: &Json, to: S) -> Result<S::Ok, S::Error> {
    match has_long_number(json) {
        false => json.serialize(to),
        true => RawValue::from_string(text(json)).map_err(serde::ser::Error::custom)?.serialize(to),
    }
}

fn has_long_number(json: &Json) -> bool {
    match json {
        Json::Array(list) => list.iter().any(has_long_number),
        Json::Object(fields) => of_fields(fields).is_some() || fields.values().any(has_long_number),
        _ => false,
    }
}

/// For serde: a value in a record, with each number as it was written.
pub(crate) mod written {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(json: &Option<Json>, to: S) -> Result<S::Ok, S::Error> {
        match json {
            Some(json) => super::serialize(json, to),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Json>, D::Error> {
        let raw = Option::<Box<RawValue>>::deserialize(from)?;
        let json = raw.map(|raw| read(raw.get().as_bytes())).transpose();
        json.map_err(serde::de::Error::custom)
    }
}

/// The text with an object in place of each number that 64 bits do not hold as it is written; none where they hold all.
fn marked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut marked = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E');
                let end = at + bytes[at..].iter().take_while(is_part).count();
                let number = &bytes[at..end];
                if is_number(number) && !is_held(number) {
                    marked.extend_from_slice(&bytes[copied..at]);
                    marked.extend([BEGIN, number, END].concat());
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    (copied > 0).then(|| [&marked, &bytes[copied..]].concat())
}

/// Behind the quote that ends a string.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        match bytes[at + found] {
            b'"' => return at + found + 1,
            _ => at += found + 2,
        }
    }
    bytes.len()
}

/// Whether JSON has such a number: `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`.
fn is_number(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(bytes);
    let mut rest = &bytes[whole..];
    let mut is_right = whole == 1 || (whole > 1 && bytes[0] != b'0');
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        is_right &= count > 0;
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent =
            exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        let count = digits(exponent);
        is_right &= count > 0;
        rest = &exponent[count..];
    }
    is_right && rest.is_empty()
}

/// Whether serde_json writes the number as it was read.
fn is_held(number: &[u8]) -> bool {
    is_short(number)
        || serde_json::from_slice::<serde_json::Number>(number)
            .is_ok_and(|held| held.to_string().as_bytes() == number)
}

/// Of most numbers that is known without a look at the double: an integer of 18 digits has less than 64 bits, and a decimal of 15 digits
/// without a zero at its end is the shortest that means its double. Below 0.1 it would be written with an exponent.
fn is_short(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    match memchr::memchr(b'.', digits) {
        None => digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) && number != b"-0",
        Some(point) => {
            let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
            digits.len() <= 16
                && fraction.iter().all(u8::is_ascii_digit)
                && fraction.last() != Some(&b'0')
                && (whole != b"0" || fraction.first() != Some(&b'0'))
        }
    }
}

/// The number that a text is, for people's files: also with a plus sign, a bare dot, leading zeros or blanks around it.
pub(crate) fn in_text(text: &str) -> Option<&str> {
    let text = text.trim_ascii();
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let is_plain =
        text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E'));
    // Its grammar is that of a double, without the words for infinities and NaN.
    (is_plain && digits > 0 && text.parse::<f64>().is_ok()).then_some(text)
}

/// Which of two numbers is greater, by all of their digits.
pub(crate) fn order(left: &str, right: &str) -> Ordering {
    let (left, right) = (Decimal::of(left), Decimal::of(right));
    match (left.sign(), right.sign()) {
        (1, 1) => left.magnitude(&right),
        (-1, -1) => right.magnitude(&left),
        (left, right) => left.cmp(&right),
    }
}

/// ±0.d₁d₂d₃… · 10^point, without zeros at either end.
struct Decimal<'t> {
    is_negative: bool,
    whole: &'t [u8],
    fraction: &'t [u8],
    point: i64,
}

impl<'t> Decimal<'t> {
    fn of(text: &'t str) -> Self {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        // Of `0.001`, the zeros behind the point are no digits either; of `100`, those at the end.
        let (whole_digits, fraction_digits, shift) = match (whole, fraction) {
            ("", fraction) => {
                let digits = fraction.trim_start_matches('0');
                ("", digits, -((fraction.len() - digits.len()) as i64))
            }
            (whole, "") => (whole.trim_end_matches('0'), "", whole.len() as i64),
            (whole, fraction) => (whole, fraction, whole.len() as i64),
        };
        // An exponent beyond 64 bits is as good as the greatest.
        let far = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
        let point = exponent.parse().unwrap_or(far).saturating_add(shift);
        let (whole, fraction) = (whole_digits.as_bytes(), fraction_digits.as_bytes());
        Self { is_negative, whole, fraction, point }
    }

    fn sign(&self) -> i8 {
        match (self.whole.is_empty() && self.fraction.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let digits = |of: &Self| of.whole.iter().chain(of.fraction).copied().collect::<Vec<_>>();
        self.point.cmp(&other.point).then_with(|| digits(self).cmp(&digits(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_out_as_it_went_in() {
        for number in [
            "0",
            "7",
            "-7",
            "1.5",
            "1.50",
            "-0",
            "0.0",
            "1e3",
            "1E+3",
            "1e999",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "0.1000000000000000055511",
            "1234567890.12345678901234567890",
        ] {
            let json = read(number.as_bytes()).unwrap();
            assert_eq!(of(&json).as_deref(), Some(number));
            assert_eq!(text(&json), number);
            let nested = format!(r#"{{"a":[{number},"{number}",{{"b\"":{number}}}]}}"#);
            assert_eq!(text(&read(nested.as_bytes()).unwrap()), nested);
        }
    }

    #[test]
    fn what_64_bits_hold_is_a_plain_number() {
        for number in
            ["0", "-7", "1.5", "999999999999999999", "18446744073709551615", "-9223372036854775808"]
        {
            assert!(read(number.as_bytes()).unwrap().is_number(), "{number}");
        }
    }

    #[test]
    fn a_number_that_is_known_to_be_held_is_written_as_it_was_read() {
        let mut digits = 1_u64;
        for _ in 0..100_000 {
            digits = digits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (whole, fraction) = (digits >> (20 + digits % 44), (digits >> 7) % 100_000);
            for number in [
                format!("{whole}"),
                format!("-{whole}"),
                format!("{whole}.{fraction}"),
                format!("0.{fraction:05}"),
            ] {
                if is_short(number.as_bytes()) {
                    let plain: Json = serde_json::from_str(&number).unwrap();
                    assert_eq!(plain.to_string(), number);
                }
            }
        }
    }

    #[test]
    fn what_is_no_json_is_told_as_before() {
        for text in [
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "[1.50",
            "{\"a\":1.50,}",
            "1.50 2",
            "-",
            "\"\\",
            "1.50\u{0}",
        ] {
            let plain = serde_json::from_str::<Json>(text).unwrap_err().to_string();
            assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), plain, "{text}");
        }
    }

    #[test]
    fn an_object_that_only_looks_like_one_is_none() {
        for text_of in [
            r#"{"\u0000number":"id"}"#,
            r#"{"\u0000number":"1.50","b":1}"#,
            r#"{"\u0000number":7}"#,
        ] {
            let json = read(text_of.as_bytes()).unwrap();
            assert_eq!((of(&json), text(&json).as_str()), (None, text_of));
        }
        let quoted = Json::String(r#"{"\u0000number":"1.50"}"#.into());
        assert_eq!(text(&quoted), quoted.to_string());
    }

    #[test]
    fn numbers_are_compared_by_all_their_digits() {
        let rising = [
            "-1e3",
            "-10",
            "-9.5",
            "-9",
            "-0.001",
            "0",
            "1e-400",
            "0.001",
            "0.01",
            "0.5",
            "9",
            "9.99",
            "10",
            "1e2",
            "100.5",
            "123456789012345678901",
            "123456789012345678902",
            "1e99999999999999999999",
        ];
        for (at, left) in rising.iter().enumerate() {
            for (other, right) in rising.iter().enumerate() {
                assert_eq!(order(left, right), at.cmp(&other), "{left} {right}");
            }
        }
        for (left, right) in [
            ("1.50", "1.5"),
            ("007", "7"),
            ("+7", "7.0"),
            ("-0", "0"),
            ("100", "1e2"),
            (".5", "0.50"),
        ] {
            assert_eq!(order(left, right), Ordering::Equal, "{left} {right}");
        }
    }

    #[test]
    fn a_text_is_a_number_or_not() {
        for text in ["10", " 9 ", "-1.5", "+2", "1e3", ".5", "007"] {
            assert_eq!(in_text(text), Some(text.trim()), "{text}");
        }
        for text in ["", "-", "e", "1e", "inf", "NaN", "1,000", "0x10", "1 2", "1-2", "v10", "."] {
            assert_eq!(in_text(text), None, "{text}");
        }
    }
}
