//! The five documents that redial was made from: every example in them is read as it stands there,
//! and gives the delays that the document states, with the decisions of the contract.

use std::time::Duration;

use redial_core::{Backoff, Forecast, Policy, clause};
use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{BackoffStrategy, Entry, Format, Matcher, RetryPolicy, read};

use crate::shown::{check, only, shown, unindented};

const RFC: &str = include_str!("../seeds/000.md");
const RETRY_CONFIG: &str = include_str!("../seeds/001.md");
const ADR: &str = include_str!("../seeds/002.md");
const CONTENTION: &str = include_str!("../seeds/003.md");
const COMPOSITION: &str = include_str!("../seeds/004.md");

/// The blocks of a document in one language.
fn blocks<'t>(document: &'t str, language: &str) -> Vec<&'t str> {
    let parts = document.split(&format!("```{language}\n")).skip(1).collect::<Vec<_>>();
    assert!(!parts.is_empty(), "no block of {language}");
    parts.into_iter().map(|part| part.split("```").next().unwrap_or_default()).collect()
}

/// The part of a document under a heading, up to the next one of the same or a higher level.
fn section<'t>(document: &'t str, heading: &str) -> &'t str {
    let (_, after) = document.split_once(&format!("{heading}\n")).expect(heading);
    let level = heading.find(' ').expect("a level");
    let ends = (1..=level).map(|level| format!("\n{} ", "#".repeat(level)));
    let end = ends.filter_map(|end| after.find(&end)).min();
    &after[..end.unwrap_or(after.len())]
}

/// The rows of the first table, without its head.
fn table(section: &str) -> Vec<Vec<&str>> {
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Every duration in a line: `1s, 500ms`.
fn durations(line: &str) -> Vec<Duration> {
    let words = line.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter_map(duration).collect()
}

fn duration(word: &str) -> Option<Duration> {
    let unit = word.find(|character: char| !character.is_ascii_digit())?;
    let number: u64 = word[..unit].parse().ok()?;
    match &word[unit..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

fn seconds<const N: usize>(seconds: [u64; N]) -> [Duration; N] {
    seconds.map(Duration::from_secs)
}

fn millis<const N: usize>(millis: [u64; N]) -> [Duration; N] {
    millis.map(Duration::from_millis)
}

/// The delays of a policy that leaves nothing to chance.
fn delays(policy: &Policy) -> Vec<Duration> {
    policy.delays(|| -> u64 { panic!("{policy} draws") }).collect()
}

fn delays_of(clause: &str) -> Vec<Duration> {
    delays(&clause.parse().expect(clause))
}

fn ranges(policy: &Policy) -> Vec<(Duration, Duration)> {
    policy.forecasts().map(|Forecast { least, greatest, .. }| (least, greatest)).collect()
}

/// The number after a word of the text: `maxAttempts(5)`, `MAX_PROPOSAL_RETRIES = 6`.
fn number_after(text: &str, word: &str) -> u64 {
    let (_, after) = text.split_once(word).expect(word);
    let digits = after.trim_start_matches(['(', ' ', '=']).chars();
    let digits: String =
        digits.take_while(|digit| digit.is_ascii_digit() || *digit == '_').collect();
    digits.replace('_', "").parse().expect(word)
}

// 000: the clause

#[test]
fn every_call_of_the_rfc_has_its_policy_or_its_diagnostic() {
    let blocks = blocks(RFC, "constellation");
    let expected = [
        "result: attempts: 6, delay: 1s, backoff: exponential, max_delay: 30s",
        "result: attempts: 6, delay: 500ms, backoff: exponential, max_delay: 30s
         result: attempts: 6, delay: 1s, backoff: linear, max_delay: 30s
         result: attempts: 6, delay: 1s",
        "result: attempts: 11, delay: 1s, backoff: exponential, max_delay: 30s",
        "result: attempts: 4, delay: 1s, backoff: exponential, max_delay: 30s
         result: attempts: 4, delay: 0s, backoff: exponential, max_delay: 30s
         warning[backoff-without-delay] at \"backoff: exponential\": backoff has no effect without \
         a delay to grow from; add delay: 1s, or drop it",
        "result: attempts: 6, delay: 100ms, backoff: exponential, max_delay: 30s",
        "response: attempts: 6, delay: 1s, backoff: linear, max_delay: 30s",
        "result: attempts: 5, delay: 500ms, backoff: exponential, max_delay: 30s, timeout: 5s",
        // What the document considered and did not take: ours is named.
        "result: refused
         error[wrong-type] at \"true\": jitter: `true` is not known; did you mean `full`?",
        "result: refused
         error[wrong-type] at \"(n) => n * n * 100ms\": backoff: `(n) => n * n * 100ms`; a function \
         is a Schedule in Rust; here, use a list such as [1s, 3s, 7s]",
        "result: refused
         error[unknown-option] at \"backoff_factor\": `backoff_factor` is not an option; did you \
         mean `factor`?",
    ];
    assert_eq!(blocks.len(), expected.len());
    for (block, expected) in blocks.iter().zip(expected) {
        check(Text, block, expected);
    }
}

#[test]
fn every_clause_of_the_rfc_is_found_where_it_stands() {
    for block in blocks(RFC, "constellation") {
        let document = read(block, Text, None);
        for entry in document.policies() {
            assert!(block[..entry.span.start].trim_end().ends_with("with"), "{block}");
            let clause = entry.span.of(block);
            let rest = block[entry.span.end..].lines().next().unwrap_or_default().trim();
            assert!(rest.is_empty() || rest.starts_with('#'), "{clause} and then {rest}");
            assert!(clause.starts_with("retry: ") || clause.starts_with("timeout: "), "{clause}");
        }
        assert_eq!(document.policies().len(), block.matches(") with").count(), "{block}");
    }
}

#[test]
fn the_delays_are_those_in_the_comments_of_the_rfc() {
    let mut stated = 0;
    for block in blocks(RFC, "constellation") {
        for entry in read(block, Text, None).policies() {
            let Some(policy) = entry.policy else { continue };
            let above = block[..entry.span.start].lines().rev().nth(1).unwrap_or_default();
            let below = block[entry.span.end..].lines().nth(1).unwrap_or_default();
            for comment in [above, below].iter().filter(|line| line.starts_with('#')) {
                let list = comment.split("(capped").next().and_then(|list| list.rsplit('(').next());
                let listed = list.map(durations).unwrap_or_default();
                if listed.len() > 1 {
                    let delays = delays(&policy);
                    assert_eq!(delays[..listed.len()], listed, "{comment}");
                    // The one list that has an end has one delay too few: retry: 10 has ten.
                    let more = if comment.starts_with("# Delays:") { 1 } else { 0 };
                    let open = comment.ends_with("...");
                    assert!(open || delays.len() == listed.len() + more, "{comment}");
                    stated += 1;
                }
            }
        }
    }
    assert_eq!(stated, 4, "lists of delays in the comments");
    let ten = seconds([1, 2, 4, 8, 16, 30, 30, 30, 30, 30]);
    assert_eq!(delays_of("retry: 10, delay: 1s, backoff: exponential"), ten);
}

#[test]
fn the_patterns_of_the_strategies_are_those_of_the_rfc() {
    let rows = table(section(RFC, "### Backoff Strategies"));
    assert_eq!(rows.len(), 3);
    for row in rows {
        let stated = durations(row[2]);
        let clause =
            format!("retry: {}, delay: 1s, backoff: {}", stated.len(), row[0].trim_matches('`'));
        assert_eq!(delays_of(&clause), stated, "{clause}");
    }
}

#[test]
fn the_multiples_of_the_delay_are_those_of_the_rfc() {
    let rows = table(section(RFC, "### Behavior"));
    for (column, backoff) in [(1, "fixed"), (2, "linear"), (3, "exponential")] {
        let delays = delays_of(&format!("retry: 5, delay: 1s, backoff: {backoff}"));
        for (row, delay) in rows.iter().zip(&delays) {
            // The last row has the formula, which 5 stands for here.
            let times = match row[column] {
                "D" => 1,
                "N×D" => 5,
                "2^(N-1)×D" => 16,
                times => times.trim_end_matches('D').parse().expect(times),
            };
            assert_eq!(delay.as_secs(), times, "{backoff}, {}", row[0]);
        }
    }
    assert_eq!(rows.len(), 5);
}

#[test]
fn the_grammar_of_the_rfc_is_all_known() {
    let (_, names) = RFC.split_once("BackoffStrategy ::= ").expect("the grammar");
    let names = names.lines().next().unwrap_or_default();
    for name in names.split('|').map(|name| name.trim().trim_matches('\'')) {
        assert!(clause::read(&format!("retry: 1, delay: 1s, backoff: {name}")).policy().is_some());
    }
}

// 001: retry_config

#[test]
fn every_retry_config_of_the_guide_is_found_and_read() {
    let path = "map.agent_template[0].retry_config";
    let expected = [
        "attempts: 5, delay: 2s, max_delay: 30s",
        "attempts: 5, delay: 1s, backoff: linear, increment: 2s, max_delay: 30s",
        "attempts: 5, delay: 1s, backoff: exponential, max_delay: 1min",
        "attempts: 5, delay: 1s, backoff: exponential, factor: 3, max_delay: 1min",
        "attempts: 6, delay: 1s, backoff: fibonacci, max_delay: 30s",
        "attempts: 5, backoff: [1s, 3s, 7s, 15s], max_delay: 1min",
        "attempts: 5, delay: 2s, backoff: exponential, max_delay: 1min, jitter: 25%, \
         retry_on: [timeout, pattern: \"connection refused\"]",
    ];
    let blocks = blocks(RETRY_CONFIG, "yaml");
    assert_eq!(blocks.len(), expected.len());
    for (block, expected) in blocks.iter().zip(expected) {
        check(Yaml, block, &format!("{path}: {expected}"));
        let entry = only(Yaml, block);
        assert!(entry.span.of(block).starts_with("attempts: "), "{block}");
        assert!(block[..entry.span.start].trim_end().ends_with("retry_config:"), "{block}");
    }
}

/// The waits of a timeline: "- Attempt 3: 5s (1s + 4s)".
fn timeline(section: &str) -> Vec<Duration> {
    let (_, after) = section.split_once("**Example Timeline**").expect("a timeline");
    let rows = after.lines().skip(1).take_while(|line| line.starts_with("- Attempt "));
    rows.map(|row| durations(row)[0]).collect()
}

fn check_timeline(heading: &str, block: usize) {
    let section = section(RETRY_CONFIG, heading);
    let (text, stated) = (blocks(section, "yaml")[block], timeline(section));
    let policy = only(Yaml, text).policy.expect(text);
    let attempts = policy.attempts().expect(text) as usize;
    let waits = stated.len().min(attempts - 1);
    assert_eq!(delays(&policy), stated[..waits], "{heading}");
    // A wait after the last attempt never happens; with one attempt more it is the stated one.
    let longer =
        text.replace(&format!("attempts: {attempts}"), &format!("attempts: {}", attempts + 1));
    let longer = only(Yaml, &longer).policy.expect("a longer one");
    assert_eq!(delays(&longer)[..stated.len()], stated, "{heading}");
}

#[test]
fn the_timelines_of_the_guide_are_those_of_its_examples() {
    check_timeline("### Linear Backoff", 0);
    check_timeline("### Exponential Backoff", 0);
    check_timeline("### Fibonacci Backoff", 0);
    check_timeline("### Custom Backoff", 0);
}

#[test]
fn a_fixed_backoff_waits_its_initial_delay_each_time() {
    let block = blocks(section(RETRY_CONFIG, "### Fixed Backoff"), "yaml")[0];
    assert_eq!(delays(&only(Yaml, block).policy.expect(block)), seconds([2; 4]));
}

#[test]
fn a_custom_base_is_the_factor() {
    let block = blocks(section(RETRY_CONFIG, "### Exponential Backoff"), "yaml")[1];
    let block = block.replace("attempts: 5", "attempts: 6");
    assert_eq!(delays(&only(Yaml, &block).policy.expect("a policy")), seconds([1, 3, 9, 27, 60]));
}

#[test]
fn the_edge_cases_of_custom_delays_are_as_stated() {
    let custom = |attempts: u32, delays: &str| {
        let text = format!(
            "retry_config: {{attempts: {attempts}, max_delay: 60s, \
             backoff: {{custom: {{delays: {delays}}}}}}}"
        );
        self::delays(&only(Yaml, &text).policy.expect("a policy"))
    };
    assert_eq!(custom(4, "[]"), seconds([60; 3]), "an empty list falls back to max_delay");
    assert_eq!(custom(6, "[1s, 3s, 7s, 15s]"), seconds([1, 3, 7, 15, 60]));
}

#[test]
fn the_complete_example_goes_up_and_down_by_a_quarter() {
    let section = section(RETRY_CONFIG, "## Integration with RetryConfig");
    let entry = only(Yaml, blocks(section, "yaml")[0]);
    let policy = entry.policy.expect("a policy");
    let expected = [2, 4, 8, 16].map(|seconds| {
        let delay = Duration::from_secs(seconds);
        (delay - delay / 4, delay + delay / 4)
    });
    assert_eq!(ranges(&policy), expected);
    let refused = Matcher::pattern("connection refused").expect("a pattern");
    assert_eq!(entry.retry_on, [Matcher::Timeout, refused]);
}

#[test]
fn the_matchers_that_the_guide_names_are_known() {
    let (_, after) = RETRY_CONFIG.split_once("Built-in matchers (").expect("the matchers");
    let names = after.split(')').next().unwrap_or_default();
    let names: Vec<_> = names.split(", ").map(|name| name.trim_matches('`')).collect();
    assert_eq!(names, ["timeout", "network", "server_error", "rate_limit"]);
    assert!(names.iter().all(|name| Matcher::named(name).is_some()));
}

#[test]
fn the_default_of_the_guide_is_exponential_with_base_two() {
    assert!(RETRY_CONFIG.contains("uses **Exponential** backoff with a base of 2.0"));
    let entry = only(Yaml, "retry_config: {attempts: 4}");
    assert_eq!(delays(&entry.policy.expect("a policy")), seconds([1, 2, 4]));
    assert!(RETRY_CONFIG.contains("Equivalent to `backoff: { fixed: null }`"));
    let fixed = |spelling: &str| only(Yaml, &format!("retry_config: {{backoff: {spelling}}}"));
    assert_eq!(fixed("fixed").policy, fixed("{ fixed: null }").policy);
}

// 002: retryPolicy

/// The policy of the document in every notation, and what the builder makes of it.
fn of_the_decision() -> (Vec<Entry>, Policy) {
    let attempts = number_after(ADR, "maxAttempts(");
    let base = number_after(ADR, "baseDelay(");
    let max = number_after(ADR, "maxDelay(");
    assert!(ADR.contains("backoff(BackoffStrategy.EXPONENTIAL)") && ADR.contains("jitter(true)"));
    let json = format!(
        "{{\"retryPolicy\": {{\"maxAttempts\": {attempts}, \"backoff\": \"EXPONENTIAL\", \
         \"baseDelayMs\": {base}, \"maxDelayMs\": {max}, \"jitter\": true}}}}"
    );
    let yaml = format!(
        "retryPolicy:\n  maxAttempts: {attempts}\n  backoffStrategy: EXPONENTIAL\n  \
         baseDelayMs: {base}\n  maxDelayMs: {max}\n  jitter: true\n"
    );
    let toml = format!(
        "[retryPolicy]\nmaxAttempts = {attempts}\nbackoff = \"EXPONENTIAL\"\nbaseDelayMs = {base}\n\
         maxDelayMs = {max}\njitter = true\n"
    );
    let entries = vec![only(Json, &json), only(Yaml, &yaml), only(Toml, &toml)];
    let builder = RetryPolicy::new()
        .max_attempts(attempts as u32)
        .backoff(BackoffStrategy::Exponential)
        .base_delay(base)
        .max_delay(max)
        .jitter(true)
        .build();
    (entries, builder)
}

#[test]
fn the_step_of_the_decision_is_one_policy_in_every_notation() {
    let (entries, builder) = of_the_decision();
    for entry in entries {
        assert_eq!(entry.policy, Some(builder));
        assert_eq!(entry.name, "retryPolicy");
    }
    let clause = "attempts: 5, delay: 1s, backoff: exponential, jitter: [0.5, 1.5], max_delay: 60s";
    assert_eq!(builder, clause.parse().expect(clause));
}

#[test]
fn jitter_multiplies_by_the_factors_of_the_decision() {
    assert!(ADR.contains("a random factor in `[0.5, 1.5)`, then clamping to `maxDelayMs`"));
    let (_, policy) = of_the_decision();
    let expected = [1, 2, 4, 8].map(|seconds| {
        let delay = Duration::from_secs(seconds);
        (delay / 2, delay * 3 / 2 - Duration::from_nanos(1))
    });
    assert_eq!(ranges(&policy), expected);
}

#[test]
fn the_strategies_of_the_decision_have_its_formulas() {
    let of = |strategy| {
        let policy = RetryPolicy::new().max_attempts(8).backoff(strategy).max_delay(60_000).build();
        delays(&policy)
    };
    assert!(ADR.contains("(`delay = baseDelay`)"));
    assert_eq!(of(BackoffStrategy::Fixed), seconds([1; 7]));
    assert!(ADR.contains("(`delay = baseDelay × attempt`)"));
    assert_eq!(of(BackoffStrategy::Linear), seconds([1, 2, 3, 4, 5, 6, 7]));
    assert!(ADR.contains("(`delay = baseDelay × 2^(attempt-1)`)"));
    assert_eq!(of(BackoffStrategy::Exponential), seconds([1, 2, 4, 8, 16, 32, 60]));
}

#[test]
fn the_builder_says_what_the_map_says() {
    for (strategy, name) in [
        (BackoffStrategy::Fixed, "FIXED"),
        (BackoffStrategy::Linear, "LINEAR"),
        (BackoffStrategy::Exponential, "EXPONENTIAL"),
    ] {
        for (attempts, base, max) in
            [(1, 0, 0), (2, 1, 1), (u32::MAX, u64::MAX, u64::MAX), (7, 1000, 300_000)]
        {
            for jitter in [false, true] {
                let text = format!(
                    "{{\"maxAttempts\": {attempts}, \"backoff\": \"{name}\", \
                     \"baseDelayMs\": {base}, \"maxDelayMs\": {max}, \"jitter\": {jitter}}}"
                );
                let builder = RetryPolicy::new()
                    .max_attempts(attempts)
                    .backoff(strategy)
                    .base_delay(base)
                    .max_delay(max)
                    .jitter(jitter);
                let document = read(&text, Json, None);
                let entry = document.policies().next().expect("a policy");
                assert_eq!(entry.policy, builder.try_build().ok(), "{text}");
            }
        }
    }
    assert!(RetryPolicy::new().max_attempts(0).try_build().is_err());
    assert_eq!(RetryPolicy::default(), RetryPolicy::new());
}

// 003: contention

#[test]
fn the_ranges_of_contention_are_those_of_the_table() {
    let rows = table(section(CONTENTION, "### Backoff Sequence (with jitter ranges)"));
    assert_eq!(rows.len(), 7);
    for (n, row) in (0..).zip(&rows) {
        let total = row[3].trim_end_matches("ms").split_once('–').expect(row[3]);
        let (least, greatest): (u64, u64) = (total.0.parse().unwrap(), total.1.parse().unwrap());
        // The formula cannot reach its cap in the last row.
        let greatest = if n == 6 {
            assert_eq!((row[0], greatest), ("6+", 1000));
            960
        } else {
            greatest
        };
        let Forecast { least: shortest, greatest: longest, .. } = Policy::CONTENTION.forecast(n);
        assert_eq!([shortest, longest], millis([least, greatest]), "row {}", row[0]);
    }
    assert_eq!(Policy::CONTENTION.forecast(100), Policy::CONTENTION.forecast(6));
}

#[test]
fn contention_is_the_clause_that_has_the_numbers_of_the_document() {
    let number = |word| number_after(CONTENTION, word);
    let retries = number("MAX_PROPOSAL_RETRIES =");
    assert!(CONTENTION.contains("(7 total attempts including initial)"));
    let base = number("BASE_MS: u64 =");
    let top = base << number("MAX_EXPONENT: u32 =");
    let cap = number("MAX_DELAY_MS: u64 =");
    let within = number("PROPOSAL_TIMEOUT =");
    let clause = format!(
        "retry: {retries}, delay: {base}ms, backoff: exponential, max_delay: {top}ms, \
         jitter: +50%, max_delay: {cap}ms, within: {within}s"
    );
    let entry = only(Text, &clause);
    assert_eq!(entry.policy, Some(Policy::CONTENTION));
    assert_eq!(Policy::CONTENTION.attempts(), Some(7));
}

#[test]
fn contention_draws_from_the_shortest_to_the_longest() {
    let least: Vec<_> = Policy::CONTENTION.delays(|| 0).collect();
    let most: Vec<_> = Policy::CONTENTION.delays(|| u64::MAX).collect();
    assert_eq!(least, millis([10, 20, 40, 80, 160, 320]));
    assert_eq!(most, millis([15, 30, 60, 120, 240, 480]));
    // The document says 1.2 s in all; its own table says otherwise.
    let total = Policy::CONTENTION.total().expect("an end");
    assert_eq!([total.least, total.greatest], millis([630, 945]));
}

// 004: composition

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The chains of the proposal that a block defines: `let a = Backoff.exponential(…).maximum(…)`.
fn chains(block: &str) -> Vec<(&str, Backoff)> {
    let statements = block.split("let ").skip(1);
    let chains = statements.filter_map(|statement| {
        let (name, chain) = statement.split_once(" = Backoff")?;
        let chain = chain.split("\n\n").next()?.trim();
        Some((name, chain.split('.').map(str::trim).collect::<Vec<_>>().join(".")))
    });
    chains.map(|(name, chain)| (name, backoff(&chain))).collect()
}

/// `.exponential(factor: 2, initial: .seconds(1)).maximum(.seconds(5)).fullJitter()`
fn backoff(chain: &str) -> Backoff {
    let time = |after: &str| {
        let (_, after) = chain.split_once(after).expect(after);
        let after = after.trim_start_matches(['(', '.']);
        match after.split('(').next() {
            Some("seconds") => s(number_after(after, "seconds(")),
            Some("milliseconds") => ms(number_after(after, "milliseconds(")),
            unit => panic!("{unit:?} in {chain}"),
        }
    };
    assert_eq!(number_after(chain, "exponential(factor:"), 2, "{chain}");
    let exponential = Backoff::exponential(time("initial:"));
    match chain.find("maximum") < chain.find("fullJitter") {
        true => exponential.max(time("maximum")).full_jitter(),
        false => exponential.full_jitter().max(time("maximum")),
    }
}

#[test]
fn the_chains_of_the_proposal_are_those_of_the_clause() {
    let clauses = [
        ("a", "backoff: exponential, delay: 1s, max_delay: 5s, jitter: full"),
        ("b", "backoff: exponential, delay: 1s, jitter: full, max_delay: 5s"),
        ("backoff", "backoff: exponential, delay: 100ms, max_delay: 10s, jitter: full"),
    ];
    let swift = blocks(COMPOSITION, "swift");
    let found: Vec<_> = swift.iter().flat_map(|block| chains(block)).collect();
    assert_eq!(found.len(), clauses.len());
    for ((name, chain), (expected, clause)) in found.into_iter().zip(clauses) {
        assert_eq!(name, expected);
        let attempts = number_after(COMPOSITION, "retry(maxAttempts: ") as u32;
        let policy: Policy = format!("attempts: {attempts}, {clause}").parse().expect(clause);
        assert_eq!(chain.attempts(attempts), policy, "{name}");
    }
}

#[test]
fn the_order_of_a_chain_decides_as_the_proposal_says() {
    assert!(COMPOSITION.contains("jitter produces a value between 0 and 5 seconds"));
    let capped = Backoff::exponential(s(1)).max(s(5)).full_jitter().attempts(5);
    // Half of all words: half of the cap, or half of eight seconds.
    let half: Vec<_> = capped.delays(|| 1 << 63).collect();
    assert_eq!(half, [ms(500), s(1), s(2), ms(2500)]);
    assert!(
        COMPOSITION.contains("(producing 0 to 8 seconds), then the result is capped at 5 seconds")
    );
    let jittered = Backoff::exponential(s(1)).full_jitter().max(s(5)).attempts(5);
    let half: Vec<_> = jittered.delays(|| 1 << 63).collect();
    assert_eq!(half, [ms(500), s(1), s(2), s(4)]);
    let most: Vec<_> = jittered.delays(|| u64::MAX).collect();
    assert_eq!(most, [s(1), s(2), s(4), s(5)]);
}

#[test]
fn every_formula_of_the_proposal_holds() {
    let stated = |formula: &str| assert!(COMPOSITION.contains(formula), "{formula}");
    let of = |backoff: Backoff| delays(&backoff.attempts(5));
    stated("**Constant**: $f(n) = constant$");
    assert_eq!(of(Backoff::constant(ms(5))), millis([5; 4]));
    stated("**Linear**: $f(n) = initial + increment * n$");
    assert_eq!(of(Backoff::linear(ms(1), ms(2))), millis([1, 3, 5, 7]));
    stated("**Exponential**: $f(n) = initial * factor ^ n$");
    assert_eq!(of(Backoff::exponential(ms(1))), millis([1, 2, 4, 8]));
    stated("**Minimum**: $f(n) = max(minimum, g(n))$");
    assert_eq!(of(Backoff::exponential(ms(1)).min(ms(2))), millis([2, 2, 4, 8]));
    stated("**Maximum**: $f(n) = min(maximum, g(n))$");
    assert_eq!(of(Backoff::exponential(ms(1)).max(ms(5))), millis([1, 2, 4, 5]));
    let range = |backoff: Backoff| ranges(&backoff.attempts(2))[0];
    stated("**Full Jitter**: $f(n) = random(0, g(n))$");
    assert_eq!(range(Backoff::constant(s(1)).full_jitter()), (s(0), s(1)));
    stated("**Equal Jitter**: $f(n) = random(g(n)/2, g(n))$");
    assert_eq!(range(Backoff::constant(s(1)).equal_jitter()), (ms(500), s(1)));
}

#[test]
fn an_overflow_is_the_longest_delay_and_a_cap_still_holds() {
    assert!(COMPOSITION.contains("since the wrapper clamps the result"));
    let longest = Duration::from_nanos(u64::MAX);
    let policy = Backoff::exponential(s(1)).attempts(100);
    assert_eq!(delays(&policy)[60..], [longest; 39]);
    // The last value that there is room for is kept: 2^34 s, and then no more.
    assert_eq!(delays(&policy)[34..36], [s(1 << 34), longest]);
    assert_eq!(delays(&Backoff::exponential(s(1)).max(s(5)).attempts(100))[60..], [s(5); 39]);
}

#[test]
fn what_the_proposal_traps_is_an_error_that_names_the_value() {
    assert!(COMPOSITION.contains("`maxAttempts` must be greater than 0"));
    check(
        Text,
        "attempts: 0",
        r#"
        : refused
        error[zero-attempts] at "0": attempts: 0 attempts would never run the operation; use 1 or more
    "#,
    );
    assert!(Backoff::none().try_attempts(0).is_err());
}

#[test]
fn every_policy_of_the_documents_reads_back_as_itself() {
    let texts = blocks(RFC, "constellation").into_iter().map(|block| (block, Text));
    let texts = texts.chain(blocks(RETRY_CONFIG, "yaml").into_iter().map(|block| (block, Yaml)));
    let mut read_back = 0;
    for (text, format) in texts {
        let document = read(text, format, None);
        for entry in document.policies().filter(|entry| entry.policy.is_some()) {
            reads_back(entry);
            read_back += 1;
        }
    }
    assert_eq!(read_back, 17);
    of_the_decision().0.iter().for_each(reads_back);
}

fn reads_back(entry: &Entry) {
    let canonical = entry.canonical().expect("a policy");
    let document = read(&canonical, Format::Text, None);
    let again = document.policies().next().expect("a policy");
    assert_eq!(again.policy, entry.policy, "{canonical}");
    assert_eq!((again.timeout, &again.retry_on), (entry.timeout, &entry.retry_on), "{canonical}");
    assert_eq!(
        unindented(&shown(&canonical, &document)).lines().next(),
        Some(&*format!(": {canonical}"))
    );
}
