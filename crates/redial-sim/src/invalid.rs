//! A caller's mistake, with the values in it.

use std::fmt;

/// A setting that a simulation cannot have. Its text names the setting, the value and what is
/// allowed.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Contention;
///
/// let invalid = Contention::occ(0).run(&Policy::DEFAULT).unwrap_err();
/// assert_eq!(invalid.to_string(), "clients: 0 is out of range; use 1 to 4194304");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Invalid {
    setting: &'static str,
    mistake: Mistake,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    OutOfRange {
        value: f64,
        least: f64,
        most: f64,
    },
    /// A budget or a breaker that the core refuses, in its own words.
    Refused(redial_core::Invalid),
}

impl Invalid {
    pub(crate) fn unless_within(
        setting: &'static str,
        value: impl Into<f64>,
        least: impl Into<f64>,
        most: impl Into<f64>,
    ) -> Result<(), Self> {
        let (value, least, most) = (value.into(), least.into(), most.into());
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(Self { setting, mistake: Mistake::OutOfRange { value, least, most } })
    }

    pub(crate) fn refused(setting: &'static str) -> impl FnOnce(redial_core::Invalid) -> Self {
        move |invalid| Self { setting, mistake: Mistake::Refused(invalid) }
    }

    /// The setting's name, as `clients` or `trials`.
    ///
    /// ```
    /// use redial_sim::engine::{Bounds, Engine};
    /// assert_eq!(Engine::new(0, Bounds::DEFAULT).unwrap_err().setting(), "clients");
    /// ```
    pub const fn setting(&self) -> &'static str {
        self.setting
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mistake {
            Mistake::OutOfRange { value, least, most } => {
                write!(f, "{}: ", self.setting)?;
                // In full, 1e308 has 309 digits.
                match value == 0.0 || (1e-9..1e16).contains(&value.abs()) {
                    true => write!(f, "{value}")?,
                    false => write!(f, "{value:e}")?,
                }
                write!(f, " is out of range; use {least} to {most}")
            }
            Mistake::Refused(invalid) => invalid.fmt(f),
        }
    }
}

impl std::error::Error for Invalid {}

#[test]
fn a_value_that_is_out_of_range_is_written_in_few_digits() {
    for (value, text) in [
        (0.0, "0"),
        (-1.0, "-1"),
        (12_345_678.5, "12345678.5"),
        (1e308, "1e308"),
        (-2.5e-300, "-2.5e-300"),
        (f64::INFINITY, "inf"),
    ] {
        let invalid = Invalid::unless_within("rate", value, 0.5, 2.0).unwrap_err();
        let expected = format!("rate: {text} is out of range; use 0.5 to 2");
        assert_eq!(invalid.to_string(), expected);
    }
}
