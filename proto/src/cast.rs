//! The models that take part in sessions: those of other roles than the agent's, and the judges.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Digest, EndpointName, ModelRef, ModelSpec, Price, Role, Thinking, json_bytes};

/// Models of the roles other than the agent's, each `endpoint/model` or a mapping with parameters, like a model under test.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RoleModels {
    /// The model that plays the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<ModelSpec>,
    /// The model that plays the tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<ModelSpec>,
}

impl RoleModels {
    /// `true` if no model is named.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.user.is_none() && self.environment.is_none()
    }

    /// The model that plays `role`; `None` for the agent, which is under test, and for judges.
    #[must_use]
    pub const fn get(&self, role: Role) -> Option<&ModelSpec> {
        match role {
            Role::User => self.user.as_ref(),
            Role::Environment => self.environment.as_ref(),
            Role::Agent | Role::Judge => None,
        }
    }

    /// The roles that have a model, each with it.
    pub fn iter(&self) -> impl Iterator<Item = (Role, &ModelSpec)> {
        [Role::User, Role::Environment].into_iter().filter_map(|role| Some((role, self.get(role)?)))
    }

    /// The roles that have a model, each with a mutable reference to it.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Role, &mut ModelSpec)> {
        let user = self.user.as_mut().map(|model| (Role::User, model));
        user.into_iter().chain(self.environment.as_mut().map(|model| (Role::Environment, model)))
    }
}

/// Rule that combines the answers of a panel's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PanelRule {
    /// The answer of most members.
    Majority,
    /// The mean of the members' numbers.
    Mean,
}

impl PanelRule {
    /// Name in files, SQL and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::Mean => "mean",
        }
    }
}

/// Several judges that are asked the same questions, or one that is asked several times.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Panel {
    /// Members of the panel.
    pub panel: Vec<ModelSpec>,
    /// Rule that combines their answers.
    pub rule: PanelRule,
    /// Number of times that each member is asked each question, at least 1.
    pub repeats: u8,
    /// Shows each member the two things that a question compares in reversed order every second time, so that a preference for the first or
    /// the last cancels out. Questions that compare nothing are repeated unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub swap: bool,
}

/// The judge that answers an evaluator's questions: `endpoint/model`, a mapping with `id` and parameters, or a mapping with a `panel` of
/// several.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Judge {
    /// One model, without parameters.
    Plain(ModelRef),
    /// One model, with parameters.
    Model(Box<ModelSpec>),
    /// Several models.
    Panel(Panel),
}

impl Judge {
    /// The judge that is `model`.
    #[must_use]
    pub fn of(model: ModelSpec) -> Self {
        if model == ModelSpec::from(model.id.clone()) { Self::Plain(model.id) } else { Self::Model(Box::new(model)) }
    }

    /// All models that are asked.
    #[must_use]
    pub fn members(&self) -> Vec<ModelSpec> {
        match self {
            Self::Plain(id) => vec![ModelSpec::from(id.clone())],
            Self::Model(model) => vec![(**model).clone()],
            Self::Panel(panel) => panel.panel.clone(),
        }
    }

    /// References of all models that are asked.
    #[must_use]
    pub fn ids(&self) -> Vec<&ModelRef> {
        match self {
            Self::Plain(id) => vec![id],
            Self::Model(model) => vec![&model.id],
            Self::Panel(panel) => panel.panel.iter().map(|member| &member.id).collect(),
        }
    }

    /// The member `id` with its parameters; `None` if there is none.
    #[must_use]
    pub fn member(&self, id: &ModelRef) -> Option<ModelSpec> {
        self.members().into_iter().find(|member| member.id == *id)
    }

    /// Number of times that each member is asked each question.
    #[must_use]
    pub const fn repeats(&self) -> u8 {
        match self {
            Self::Panel(panel) => panel.repeats,
            _ => 1,
        }
    }

    /// `true` if every second repetition reverses the order of what a question compares.
    #[must_use]
    pub const fn swaps(&self) -> bool {
        matches!(self, Self::Panel(panel) if panel.swap)
    }

    /// Rule that combines the members' answers; `None` for a single model.
    #[must_use]
    pub const fn rule(&self) -> Option<PanelRule> {
        match self {
            Self::Panel(panel) => Some(panel.rule),
            _ => None,
        }
    }

    /// The name of the judge where a single reference is required: its model, or for a panel `panel/` and a digest of it.
    #[must_use]
    pub fn name(&self) -> ModelRef {
        match self {
            Self::Plain(id) => id.clone(),
            Self::Model(model) => model.id.clone(),
            Self::Panel(panel) => {
                let model = format!("{}-{}", panel.rule.as_str(), Digest::of(&json_bytes(panel)).short());
                ModelRef { endpoint: EndpointName::of_panels(), model }
            }
        }
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Panel(panel) = self else {
            return write!(f, "{}", self.name());
        };
        let members: Vec<String> = panel.panel.iter().map(|member| member.id.to_string()).collect();
        write!(f, "{} of {}", panel.rule.as_str(), members.join(", "))?;
        if panel.repeats > 1 {
            write!(f, ", each {} times", panel.repeats)?;
        }
        if panel.swap { f.write_str(", every second time in the other order") } else { Ok(()) }
    }
}

// Written by hand, because an untagged enum would lose the line of an error inside it.
impl<'de> Deserialize<'de> for Judge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            id: Option<ModelRef>,
            temperature: Option<f64>,
            top_p: Option<f64>,
            max_tokens: Option<u32>,
            thinking: Option<Thinking>,
            price: Option<Price>,
            panel: Option<Vec<ModelSpec>>,
            rule: Option<PanelRule>,
            repeats: Option<u8>,
            swap: Option<bool>,
        }
        struct TextOrFields;
        impl<'de> Visitor<'de> for TextOrFields {
            type Value = Judge;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`endpoint/model`, a mapping with the field `id`, or a mapping with the field `panel`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Judge, E> {
                text.parse().map(Judge::Plain).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Judge, A::Error> {
                let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
                let Fields { id, temperature, top_p, max_tokens, thinking, price, panel, rule, repeats, swap } = fields;
                let is_plain =
                    (temperature, top_p, max_tokens, thinking) == (None, None, None, None) && price.is_none();
                match (id, panel) {
                    (Some(id), None) if swap == Some(true) => Err(de::Error::custom(format!(
                        "`swap` needs a judge that is asked several times; write `panel: [{id}]` with a `rule` and `repeats`"
                    ))),
                    (Some(id), None) if rule.is_none() && repeats.is_none() => Ok(match is_plain {
                        true => Judge::Plain(id),
                        false => Judge::Model(Box::new(ModelSpec {
                            temperature,
                            top_p,
                            max_tokens,
                            thinking,
                            price,
                            ..ModelSpec::from(id)
                        })),
                    }),
                    (None, Some(panel)) if is_plain => Ok(Judge::Panel(Panel {
                        panel,
                        rule: rule.ok_or_else(|| de::Error::missing_field("rule"))?,
                        repeats: repeats.unwrap_or(1),
                        swap: swap.unwrap_or(false),
                    })),
                    (None, Some(_)) => Err(de::Error::custom("parameters of a panel belong to its members")),
                    (None, None) => Err(de::Error::custom("a judge has either an `id` or a `panel`")),
                    (Some(_), _) => Err(de::Error::custom("`panel`, `rule` and `repeats` do not go with `id`")),
                }
            }
        }
        deserializer.deserialize_any(TextOrFields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<Judge, String> {
        serde_yaml_ng::from_str(yaml).map_err(|error| error.to_string())
    }

    #[test]
    fn a_judge_is_written_as_it_was_read() {
        for text in [
            r#""a/b""#,
            r#"{"id":"a/b","temperature":0.0}"#,
            r#"{"panel":[{"id":"a/b"},{"id":"c/d","max_tokens":5}],"rule":"majority","repeats":2}"#,
            r#"{"panel":[{"id":"a/b"}],"rule":"mean","repeats":2,"swap":true}"#,
        ] {
            let judge: Judge = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&judge).unwrap(), text);
        }
    }

    #[test]
    fn a_mapping_without_parameters_is_a_plain_reference() {
        assert_eq!(read("{ id: a/b }"), Ok(Judge::Plain("a/b".parse().unwrap())));
    }

    #[test]
    fn a_panel_has_a_name_that_depends_on_all_of_it() {
        let one = read("{ panel: [a/b, c/d], rule: majority }").unwrap();
        let other = read("{ panel: [a/b, c/d], rule: majority, repeats: 2 }").unwrap();
        let swapping = read("{ panel: [a/b, c/d], rule: majority, repeats: 2, swap: true }").unwrap();
        let names = [&one, &other, &swapping].map(Judge::name);
        assert!(names[0] != names[1] && names[1] != names[2]);
        assert!(swapping.swaps() && !other.swaps());
        assert_eq!(swapping.to_string(), "majority of a/b, c/d, each 2 times, every second time in the other order");
        assert_eq!(other.to_string(), "majority of a/b, c/d, each 2 times");
        assert_eq!(one.ids(), [&"a/b".parse().unwrap(), &"c/d".parse().unwrap()]);
    }

    #[test]
    fn what_is_neither_a_judge_nor_a_panel_is_refused() {
        let refused = [
            "{ temperature: 0 }",
            "{ id: a/b, panel: [a/b, c/d], rule: mean }",
            "{ id: a/b, repeats: 2 }",
            "{ id: a/b, swap: true }",
            "{ panel: [a/b, c/d] }",
            "{ panel: [a/b, c/d], rule: mean, temperature: 1 }",
            "{ panel: [a/b, c/d], rule: median }",
            "{ id: a/b, temprature: 1 }",
            "{ panel: [ab], rule: mean }",
            "[a/b, c/d]",
        ];
        insta::assert_snapshot!(refused.map(|yaml| read(yaml).unwrap_err()).join("\n"));
    }
}
