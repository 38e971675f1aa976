//! A policy in a program's own configuration: TOML, YAML, JSON, environment variables, whatever
//! serde reads.
//!
//! ```
//! use redial::Policy;
//!
//! #[derive(serde::Deserialize)]
//! struct Config {
//!     #[serde(with = "redial::serde")]
//!     fetch: Policy,
//!     #[serde(with = "redial::serde")]
//!     upload: Policy,
//! }
//!
//! let config: Config = toml::from_str(
//!     r#"
//!     fetch = "retry: 4, delay: 100ms, backoff: exponential, jitter: full"
//!
//!     [upload]
//!     attempts = 5
//!     delay = "1s"
//!     backoff = "exponential"
//!     max_delay = "20s"
//!     "#,
//! )?;
//! assert_eq!(config.fetch.attempts(), Some(5));
//! assert_eq!(config.upload.to_string(), "attempts: 5, delay: 1s, backoff: exponential, max_delay: 20s");
//! # Ok::<(), toml::de::Error>(())
//! ```
//!
//! A policy is a clause (see [`redial_core::clause`]) or a table of the clause's options. Both are
//! read by the parser of [`policy!`](crate::policy!), and refused in the same words:
//!
//! ```
//! # #[derive(serde::Deserialize)] struct Config { #[serde(with = "redial::serde")] #[expect(dead_code)] fetch: redial::Policy }
//! # fn error(text: &str) -> String { toml::from_str::<Config>(text).map(|_| ()).unwrap_err().message().to_owned() }
//! assert_eq!(
//!     error("fetch = { retry = 3, dely = '1s' }"),
//!     "unknown-option: `dely` is not an option; did you mean `delay`?",
//! );
//! assert_eq!(
//!     error("fetch = { retry = 3, delay = 1 }"),
//!     "missing-unit: delay: `1` has no unit; write 1ms or 1s",
//! );
//! ```
//!
//! A table has no order. Whatever the order of its lines, `min_delay` applies first, then
//! `max_delay`, then `jitter`; where another order is wanted, a list `modifiers` of tables with one
//! key each takes their place. A policy is written out as its clause.
//!
//! [`Configured`] is for places where `#[serde(with)]` does not reach, such as the values of a map,
//! and [`option`] for policies that may be left out.

use core::fmt;
use core::ops::Deref;

use redial_core::clause::{self, Reading};
use redial_core::{AsPolicy, Policy, Schedule};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Reads a policy, for `#[serde(with = "redial::serde")]`.
///
/// # Errors
///
/// All errors of the clause or table, each with its diagnostic's name and the offending value.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
    if deserializer.is_human_readable() {
        deserializer.deserialize_any(PolicyVisitor { name: "" })
    } else {
        // A format that does not describe itself cannot say whether a table or a clause follows.
        deserializer.deserialize_str(PolicyVisitor { name: "" })
    }
}

/// Writes a policy as its clause, for `#[serde(with = "redial::serde")]`.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<S: Serializer>(policy: &Policy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(policy)
}

/// A policy that may be left out: `#[serde(default, with = "redial::serde::option")]`.
///
/// ```
/// use redial::Policy;
///
/// #[derive(serde::Deserialize)]
/// struct Config {
///     #[serde(default, with = "redial::serde::option")]
///     fetch: Option<Policy>,
/// }
///
/// let config: Config = toml::from_str("")?;
/// assert_eq!(config.fetch.unwrap_or_default(), Policy::DEFAULT);
/// # Ok::<(), toml::de::Error>(())
/// ```
pub mod option {
    use redial_core::Policy;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Configured;

    /// Reads a policy or null.
    ///
    /// # Errors
    ///
    /// As [`redial::serde::deserialize`](super::deserialize).
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Policy>, D::Error> {
        Ok(Option::<Configured>::deserialize(deserializer)?.map(|Configured(policy)| policy))
    }

    /// Writes a policy as its clause, or null.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(
        policy: &Option<Policy>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        policy.map(Configured).serialize(serializer)
    }
}

/// A policy that serde reads and writes by itself, and that a call takes as it is.
///
/// ```
/// use std::collections::HashMap;
/// use redial::serde::Configured;
///
/// let policies: HashMap<String, Configured> =
///     serde_json::from_str(r#"{"fetch": "retry: 3", "upload": {"attempts": 9, "delay": "2s"}}"#)?;
/// let page = redial::blocking::retry(&policies["fetch"], || Ok::<_, std::io::Error>("page"));
/// assert_eq!(policies["upload"].attempts(), Some(9));
/// # assert_eq!(page.unwrap(), "page");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Configured(pub Policy);

impl Deref for Configured {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.0
    }
}

impl AsPolicy for Configured {
    type Source = <Policy as AsPolicy>::Source;

    #[inline]
    fn as_policy(&self) -> &Policy<Self::Source>
    where
        Self::Source: Schedule,
    {
        &self.0
    }
}

impl From<Configured> for Policy {
    fn from(Configured(policy): Configured) -> Self {
        policy
    }
}

impl<'de> Deserialize<'de> for Configured {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

impl Serialize for Configured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

/// What no clause could have at its place is refused by name, as everything else that is wrong: these
/// methods of a [`Visitor`] that has a `name`.
macro_rules! refuse {
    ($($found:ident)*) => { $(refuse!(@ $found);)* };
    (@ bool) => { refuse!(@@ visit_bool(value: bool), "`{value}`"); };
    (@ number) => {
        refuse!(@@ visit_i64(value: i64), "`{value}`");
        refuse!(@@ visit_u64(value: u64), "`{value}`");
        refuse!(@@ visit_f64(value: f64), "`{value}`");
    };
    (@ text) => { refuse!(@@ visit_str(value: &str), "`{value}`"); };
    (@ null) => { refuse!(@@ visit_unit(), "null"); };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, _list: A) -> Result<Self::Value, A::Error> {
            Err(wrong_type(self.name, format_args!("a list"), &self))
        }
    };
    (@ table) => {
        fn visit_map<A: MapAccess<'de>>(self, _map: A) -> Result<Self::Value, A::Error> {
            Err(wrong_type(self.name, format_args!("a table"), &self))
        }
    };
    (@@ $visit:ident($($value:ident: $type:ty)?), $found:literal) => {
        fn $visit<E: de::Error>(self $(, $value: $type)?) -> Result<Self::Value, E> {
            Err(wrong_type(self.name, format_args!($found), &self))
        }
    };
}

fn wrong_type<E: de::Error>(name: &str, found: fmt::Arguments<'_>, wanted: &dyn de::Expected) -> E {
    let colon = if name.is_empty() { "" } else { ": " };
    E::custom(format_args!("wrong-type: {name}{colon}{found} is not {wanted}"))
}

/// A policy, whose name the configuration knows.
struct PolicyVisitor {
    name: &'static str,
}

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = Policy;

    refuse!(bool number null list);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy: a clause such as \"retry: 4, delay: 1s\", or a table of its options")
    }

    fn visit_str<E: de::Error>(self, clause: &str) -> Result<Policy, E> {
        policy_of(&clause::read(clause))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Policy, A::Error> {
        let (mut options, mut modifiers) = (Vec::new(), None);
        while let Some(name) = map.next_key::<String>()? {
            let is_twice = match name.as_str() {
                "modifiers" => modifiers.is_some(),
                _ => options.iter().any(|Written { name: other, .. }| *other == name),
            };
            if is_twice {
                return Err(de::Error::custom(format_args!("duplicate-option: `{name}`")));
            }
            if options.len() == OPTIONS_MAX {
                return Err(de::Error::custom(format_args!(
                    "syntax: a policy has no more than {OPTIONS_MAX} options"
                )));
            }
            if name == "modifiers" {
                modifiers = Some(map.next_value_seed(ModifiersVisitor { name: "modifiers" })?);
                continue;
            }
            let value = map.next_value_seed(ValueVisitor { name: &name, in_list: false })?;
            options.push(Written { name, value });
        }
        // Stable: the other options stay where they are, before those that have an order.
        options.sort_by_key(|option| CHAIN.iter().position(|name| option.name == *name));
        if let Some(modifiers) = modifiers {
            if let Some(Written { name, .. }) = options.iter().find(|option| option.is_modifier()) {
                return Err(de::Error::custom(format_args!(
                    "duplicate-option: `{name}` stands beside `modifiers`; put it into that list"
                )));
            }
            options.extend(modifiers);
        }
        policy_of(&clause::read(&clause_of(&options)?))
    }
}

/// What applies to a delay one after the other, in the order of a table, which has none.
const CHAIN: [&str; 3] = ["min_delay", "max_delay", "jitter"];

/// More than there are: what is longer is no policy, and need not be read to its end.
const OPTIONS_MAX: usize = 64;

/// An option as it is written in a clause.
struct Written {
    name: String,
    value: String,
}

impl Written {
    fn is_modifier(&self) -> bool {
        CHAIN.contains(&self.name.as_str())
    }
}

/// The options as a clause. A value stays one value: a comma, a comment or a colon in it does not
/// start another option.
fn clause_of<E: de::Error>(options: &[Written]) -> Result<String, E> {
    let mut text = String::new();
    for Written { name, value } in options {
        let option = format!("{name}: {value}");
        let mut parts = clause::options(&option);
        let is_one = parts.next().is_some_and(|(own_name, own_value)| {
            own_name.of(&option) == name && own_value.of(&option) == value
        });
        if !is_one || parts.next().is_some() {
            return Err(de::Error::custom(format_args!(
                "syntax: {name}: `{value}` is not one value"
            )));
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&option);
    }
    Ok(text)
}

fn policy_of<E: de::Error>(reading: &Reading) -> Result<Policy, E> {
    reading.policy().ok_or_else(|| E::custom(Errors(reading)))
}

/// All errors of a text, on one line.
struct Errors<'r>(&'r Reading);

impl fmt::Display for Errors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.0.diagnostics().iter().filter(|found| !found.kind().is_warning());
        for (index, error) in errors.enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {error}", error.kind().name())?;
        }
        Ok(())
    }
}

/// The list `modifiers`, of tables with one key each.
struct ModifiersVisitor {
    name: &'static str,
}

impl<'de> de::DeserializeSeed<'de> for ModifiersVisitor {
    type Value = Vec<Written>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ModifiersVisitor {
    type Value = Vec<Written>;

    refuse!(bool number text null table);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tables")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut modifiers = Vec::new();
        while let Some(modifier) = list.next_element_seed(ModifierVisitor { name: self.name })? {
            if modifiers.len() == OPTIONS_MAX {
                return Err(de::Error::custom(format_args!(
                    "too-many-modifiers: more than {OPTIONS_MAX}"
                )));
            }
            modifiers.push(modifier);
        }
        Ok(modifiers)
    }
}

/// One of them.
struct ModifierVisitor {
    name: &'static str,
}

impl<'de> de::DeserializeSeed<'de> for ModifierVisitor {
    type Value = Written;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Written, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ModifierVisitor {
    type Value = Written;

    refuse!(bool number text null list);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with one of the keys min_delay, max_delay and jitter")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written, A::Error> {
        let Some(name) = map.next_key::<String>()? else {
            return Err(wrong_type(self.name, format_args!("an empty table"), &self));
        };
        let value = map.next_value_seed(ValueVisitor { name: &name, in_list: false })?;
        let written = Written { name, value };
        if !written.is_modifier() {
            return Err(not_a_modifier(&written));
        }
        match map.next_key::<String>()? {
            Some(_) => Err(wrong_type(self.name, format_args!("a table with two keys"), &self)),
            None => Ok(written),
        }
    }
}

/// An option that is known has its place beside the list; of any other, the parser knows the nearest.
fn not_a_modifier<E: de::Error>(written: &Written) -> E {
    let name = &written.name;
    if clause::OPTIONS.contains(&name.as_str()) {
        return E::custom(format_args!(
            "unknown-option: `{name}` is not a modifier; put it beside `modifiers`"
        ));
    }
    match clause_of(core::slice::from_ref(written)) {
        Ok(text) => E::custom(Errors(&clause::read(&text))),
        Err(error) => error,
    }
}

/// A value, as it is written in a clause; an entry of a list is not a list itself.
struct ValueVisitor<'n> {
    name: &'n str,
    in_list: bool,
}

impl<'de> de::DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = String;

    refuse!(null table);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.in_list { "a number or a text" } else { "a number, a text or a list" })
    }

    fn visit_bool<E>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_u64<E>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E>(self, value: f64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_str<E>(self, value: &str) -> Result<String, E> {
        Ok(value.trim().to_owned())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
        let Self { name, in_list } = self;
        if in_list {
            return Err(wrong_type(name, format_args!("a list in a list"), &self));
        }
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element_seed(ValueVisitor { name, in_list: true })? {
            if entry.contains([',', '[', ']', '#', '"', '\n']) {
                return Err(de::Error::custom(format_args!(
                    "syntax: {name}: `{entry}` is not one entry of a list"
                )));
            }
            entries.push(entry);
        }
        Ok(format!("[{}]", entries.join(", ")))
    }
}
