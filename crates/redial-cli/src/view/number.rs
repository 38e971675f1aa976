//! Numbers for people: `12 500`, `0.25`, `3.5M`, `2·10⁻⁷`.

use super::axis::exponent;

/// Between the thousands, and narrower than a space.
const THIN_SPACE: char = '\u{2009}';

/// A number by itself, to three or four digits.
pub(crate) fn plain(value: f64) -> String {
    let digits = if value.abs() >= 1000.0 { 1.0 } else { value.abs() / 100.0 };
    let words = rounded(value, digits);
    if words.contains('.') && !words.contains('·') {
        // `2.50M` is no more exact than `2.5M`.
        let (number, unit) = words.split_at(words.trim_end_matches('M').len());
        return format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'));
    }
    words
}

/// A number with as many digits as it takes to tell it from one at this distance.
pub(crate) fn rounded(value: f64, distance: f64) -> String {
    const MILLION: f64 = 1e6;
    match value.abs() {
        // Less than any number that an axis can show.
        ..1e-305 => "0".into(),
        size if !(1e-4..1e9).contains(&size) => scientific(value, distance),
        size if size >= MILLION => format!("{}M", decimal(value / MILLION, distance / MILLION)),
        _ => decimal(value, distance),
    }
}

fn decimal(value: f64, distance: f64) -> String {
    let digits = (-exponent(distance)).clamp(0, 6) as usize;
    let text = format!("{:.digits$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{}{}{fraction}", sign(value), grouped(whole))
}

/// `12500` → `12 500`; four digits are read at a glance.
fn grouped(digits: &str) -> String {
    if digits.len() <= 4 {
        return digits.into();
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(THIN_SPACE);
        }
        grouped.push(digit);
    }
    grouped
}

fn scientific(value: f64, distance: f64) -> String {
    let power = exponent(value.abs());
    let digits = (power - exponent(distance)).clamp(0, 4) as usize;
    let mantissa = format!("{:.digits$}", value.abs() / 10f64.powi(power));
    let power = superscript(power);
    match mantissa.as_str() {
        "1" => format!("{}10{power}", sign(value)),
        mantissa => format!("{}{mantissa}·10{power}", sign(value)),
    }
}

fn sign(value: f64) -> &'static str {
    if value < 0.0 { "−" } else { "" }
}

fn superscript(number: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹']
            [digit.to_digit(10).unwrap_or(0) as usize],
    };
    number.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_an_axis_are_told_apart_and_nothing_more() {
        let cases = [
            (0.0, 0.2, "0"),
            (0.2, 0.2, "0.2"),
            (1.0, 0.2, "1.0"),
            (0.05, 0.05, "0.05"),
            (300.0, 100.0, "300"),
            (2000.0, 500.0, "2000"),
            (12_500.0, 500.0, "12 500"),
            (-12_500.0, 500.0, "−12 500"),
            (2_500_000.0, 500_000.0, "2.5M"),
            (1e12, 1e12, "10¹²"),
            (2e-7, 1e-7, "2·10⁻⁷"),
            (1.5e300, 5e299, "1.5·10³⁰⁰"),
            (1e-300, 1e-300, "10⁻³⁰⁰"),
        ];
        for (value, distance, expected) in cases {
            let found = rounded(value, distance).replace(THIN_SPACE, " ");
            assert_eq!(found, expected, "{value} of {distance}");
        }
    }

    #[test]
    fn a_number_by_itself_has_three_digits_or_more() {
        let cases =
            [(0.0, "0"), (2.5, "2.5"), (1234.56, "1235"), (0.97, "0.97"), (2_500_000.0, "2.5M")];
        for (value, expected) in cases {
            assert_eq!(plain(value), expected);
        }
    }
}
