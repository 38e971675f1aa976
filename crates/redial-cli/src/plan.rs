//! stub
pub(crate) struct Planned {
    pub name: Option<String>,
    pub plan: redial_policy::Plan,
    pub show: Option<usize>,
    pub diagnostics: Vec<redial_policy::Diagnostic>,
}
pub(crate) fn svg(_: &[Planned]) -> String {
    String::new()
}
pub(crate) fn html(_: &[Planned]) -> String {
    String::new()
}
pub(crate) fn json(_: &[Planned]) -> String {
    String::new()
}
pub(crate) fn terminal(p: &[Planned], _: usize) -> String {
    p.iter().map(|p| format!("{}\n", p.plan.policy())).collect()
}
