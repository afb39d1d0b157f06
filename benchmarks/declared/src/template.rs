//! Templates: Jinja's language, in which nothing is read but the variables that are given, and a variable that is not there is an error.

use std::io::{self, Write};
use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Longest template, in bytes.
pub(crate) const SOURCE_BYTES_MAX: usize = 64 << 10;
/// Longest text that a template makes, in bytes.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// Steps that a template may take.
const STEPS_MAX: u64 = 200_000;
/// The one template of an environment.
const ONLY: &str = "template";

/// A template whose syntax is good.
#[derive(Clone)]
pub(crate) struct Template(Arc<Environment<'static>>);

/// Reason why a template gives no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// Line in the template, from 0.
    pub(crate) line: usize,
    /// The problem.
    pub(crate) problem: String,
}

impl Template {
    /// # Errors
    /// When the syntax is not good, or the template is too long.
    pub(crate) fn new(source: String) -> Result<Self, TemplateError> {
        if source.len() > SOURCE_BYTES_MAX {
            let problem = format!("the template has {} bytes, at most {SOURCE_BYTES_MAX} are read", source.len());
            return Err(TemplateError { line: 0, problem });
        }
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(STEPS_MAX));
        environment.set_debug(true);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        // The one way to carry a growing text from one round of a loop to the next.
        environment.remove_global("namespace");
        environment.add_template_owned(ONLY, source).map_err(|error| explained(&error))?;
        Ok(Self(Arc::new(environment)))
    }

    /// The template as it is written.
    pub(crate) fn source(&self) -> Option<String> {
        self.0.get_template(ONLY).map(|template| template.source().to_owned()).ok()
    }

    /// The text that it makes of `variables`, and the steps that it takes: one for each instruction, and for each 64 bytes that it makes on
    /// the way.
    ///
    /// # Errors
    /// With the line and the name of a variable that is not there, or why else there is no text.
    pub(crate) fn render(&self, variables: &Value) -> Result<(String, u64), TemplateError> {
        let mut output = Limited(Vec::new());
        let rendered = self
            .0
            .get_template(ONLY)
            .and_then(|template| template.render_captured_to(variables.clone(), &mut output))
            .map(|rendered| rendered.state().fuel_levels());
        let steps = rendered.map_err(|error| explained(&error))?.map_or(0, |(consumed, _)| consumed);
        let text =
            String::from_utf8(output.0).map_err(|error| TemplateError { line: 0, problem: error.to_string() })?;
        Ok((text, steps))
    }
}

/// An error in one line: its kind, its detail, and the piece of the template that it is about.
fn explained(error: &minijinja::Error) -> TemplateError {
    let detail = error.detail().map_or_else(String::new, |detail| format!(": {detail}"));
    let quoted = error.range().zip(error.template_source()).and_then(|(range, source)| source.get(range));
    let quoted = quoted.filter(|text| text.len() <= 80).map_or_else(String::new, |text| format!(" (in `{text}`)"));
    let problem = format!("{}{detail}{quoted}", error.kind());
    TemplateError { line: error.line().unwrap_or(1).saturating_sub(1), problem }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Template").field(&self.source()).finish()
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(|TemplateError { line, problem }| {
            D::Error::custom(format!("line {} of the template: {problem}", line + 1))
        })
    }
}

/// Text that is refused when it becomes too long.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > OUTPUT_BYTES_MAX {
            return Err(io::Error::other(format!("the text is longer than {OUTPUT_BYTES_MAX} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, variables: serde_json::Value) -> Result<String, TemplateError> {
        let rendered = Template::new(source.to_owned())?.render(&Value::from(minijinja::value::Serde(&variables)));
        rendered.map(|(text, _)| text)
    }

    #[test]
    fn a_template_is_filled_from_its_variables() {
        let variables = serde_json::json!({ "q": "2+2", "choices": ["3", "4"], "n": 1.5, "setting": { "shots": 2 } });
        let made = render(
            "{{ q }}?\n{% for c in choices %}{{ 'ABCD'[loop.index0] }}. {{ c }}\n{% endfor %}{{ n }} {{ setting.shots }}\n",
            variables,
        );
        assert_eq!(made.unwrap(), "2+2?\nA. 3\nB. 4\n1.5 2");
    }

    #[test]
    fn a_variable_that_is_not_there_is_named_with_its_line() {
        let error = render("one\n{{ qestion }}", serde_json::json!({ "question": "x" })).unwrap_err();
        assert_eq!(error.line, 1);
        assert!(error.problem.contains("qestion"), "{}", error.problem);
        let error = render("{{ question.text }}", serde_json::json!({ "question": { "txt": 1 } })).unwrap_err();
        assert!(error.problem.contains("text"), "{}", error.problem);
    }

    #[test]
    fn what_takes_too_many_steps_or_makes_too_long_a_text_is_refused() {
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
        assert!(render(endless, serde_json::json!({})).unwrap_err().problem.contains("fuel"));
        let long = "{% for a in range(9999) %}{{ 'x' * 9999 }}{% endfor %}";
        let error = render(long, serde_json::json!({})).unwrap_err();
        assert!(error.problem.contains("write") || error.problem.contains("longer"), "{}", error.problem);
        assert!(Template::new("x".repeat(SOURCE_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn no_template_makes_much_on_the_way() {
        let doubled = "{% set a = 'x' * 1000 %}".to_owned() + &"{% set a = a ~ a %}".repeat(40) + "{{ a|length }}";
        for source in [doubled.as_str(), "{{ 'x'|indent(10**12)|length }}", "{{ ('x' * 10**12)|length }}"] {
            assert!(render(source, serde_json::json!({})).is_err(), "{source}");
        }
    }

    #[test]
    fn files_and_other_templates_cannot_be_read() {
        for source in ["{% include 'benchmark.yaml' %}", "{% extends 'x' %}", "{{ open('x') }}", "{{ namespace() }}"] {
            assert!(render(source, serde_json::json!({})).is_err(), "{source}");
        }
    }
}
