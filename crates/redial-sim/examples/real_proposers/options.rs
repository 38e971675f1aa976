//! What the command line says.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

pub(crate) struct Options {
    pub(crate) runs: u32,
    pub(crate) devices: Vec<u32>,
    pub(crate) round_trips: Vec<Duration>,
    /// How many devices are under way at once.
    pub(crate) at_once: u32,
    pub(crate) json: bool,
}

const ROUND_TRIP_MIN: u64 = 20;

impl Options {
    pub(crate) fn parse(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            runs: 300,
            devices: vec![2, 5, 8, 10],
            round_trips: vec![Duration::from_millis(ROUND_TRIP_MIN)],
            // More keep each other's timers waiting, and each has both ends of a connection here.
            at_once: 150,
            json: false,
        };
        while let Some(option) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
            match option.as_str() {
                "--runs" => options.runs = number(&value()?)?,
                "--devices" => options.devices = list(&value()?, number)?,
                "--rtt" => options.round_trips = list(&value()?, round_trip)?,
                "--at-once" => options.at_once = number(&value()?)?,
                "--json" => options.json = true,
                _ => return Err(format!("{option}: no such option").into()),
            }
        }
        let most = options.at_once;
        if options.runs < 2 || options.devices.iter().any(|&devices| devices > most) {
            return Err(format!("use 2 runs or more, and {most} devices or fewer").into());
        }
        Ok(options)
    }
}

fn list<T>(
    text: &str,
    parse: fn(&str) -> Result<T, Box<dyn Error>>,
) -> Result<Vec<T>, Box<dyn Error>> {
    text.split(',').map(parse).collect()
}

fn number(text: &str) -> Result<u32, Box<dyn Error>> {
    match u32::from_str(text) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{text}: use a number from 1").into()),
    }
}

fn round_trip(text: &str) -> Result<Duration, Box<dyn Error>> {
    match text.strip_suffix("ms").map(u64::from_str) {
        Some(Ok(millis)) if millis >= ROUND_TRIP_MIN => Ok(Duration::from_millis(millis)),
        _ => Err(format!("{text}: use milliseconds from {ROUND_TRIP_MIN}ms").into()),
    }
}
