//! `redial convert`: writes a policy in another notation, and names what is lost.

use clap::ArgMatches;
use redial_policy::{Converted, Format, Loss, Target, convert, convert_to_file};
use serde_json::{Value as Json, json};

use crate::args::Convert;
use crate::exit_code;
use crate::output::{self, Failure, count, optional, print, print_note};
use crate::policies::{SelectedPolicy, exactly_one, selected_with_files};
use crate::visible::visible;

pub(crate) fn run(arguments: &Convert, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let format = format(arguments)?;
    let policies =
        selected_with_files(&arguments.policy, &[], matches, arguments.to.0 == Target::File)?;
    if let Some(variable) = policies.iter().find_map(|policy| policy.from) {
        print_note(&format!("note: the policy is from {variable}\n"));
    }
    let converted = if arguments.to.0 == Target::File && policies.len() > 1 {
        let default = policies.iter().find(|policy| policy.is_default);
        let default = default.and_then(|policy| policy.name.as_deref());
        convert_to_file(policies.iter().map(|policy| &policy.entry), default, format)
    } else {
        let SelectedPolicy { entry, .. } = exactly_one(&arguments.policy, policies)?;
        convert(&entry, arguments.to.0, format)
    };
    let Some(converted) = converted else {
        return Err(Failure::from("a policy with errors cannot be converted"));
    };
    let refused = !converted.losses.is_empty() && !arguments.allow_loss;
    print_losses(&converted.losses, refused);
    if arguments.json {
        print(&json(&converted))?;
    } else if !refused {
        print(&converted.text)?;
    }
    Ok(if refused { exit_code::FAILURE } else { 0 })
}

fn format(arguments: &Convert) -> Result<Format, Failure> {
    let fixed = |what: &str| {
        Err(Failure::Message(format!("--as: {what} is not written in any format but its own")))
    };
    match (arguments.to.0, arguments.written_as) {
        (Target::Clause, Some(_)) => fixed("a clause"),
        (Target::Rust, Some(_)) => fixed("Rust"),
        (_, Some(format)) => Ok(format.into()),
        (Target::RetryPolicy, None) => Ok(Format::Json),
        // Its own.
        (Target::Foreign(_), None) => Ok(Format::Text),
        (_, None) => Ok(Format::Yaml),
    }
}

fn print_losses(losses: &[Loss], refused: bool) {
    for loss in losses {
        let policy =
            if loss.policy.is_empty() { String::new() } else { format!("{}: ", loss.policy) };
        let Loss { what, why, became, .. } = loss;
        let [policy, what, became] = [&policy, what, became].map(|text| visible(text));
        print_note(&format!("lost: {policy}{what}\n  why: {why}\n  it became: {became}\n"));
    }
    if refused {
        let lost = count(losses.len(), "loss");
        print_note(&format!("{lost}; with --allow-loss it is printed all the same\n"));
    }
}

fn json(converted: &Converted) -> String {
    let losses = converted.losses.iter().map(|Loss { policy, what, why, became }| {
        let policy = (!policy.is_empty()).then_some(policy);
        let loss = json!({ "policy": policy, "what": what, "why": why, "became": became });
        optional(loss, &["policy"])
    });
    output::json(&json!({ "text": converted.text, "losses": losses.collect::<Json>() }))
}
