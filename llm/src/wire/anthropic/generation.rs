//! The generation of a Claude model, which determines the parameters that it accepts. Source: Anthropic's guides to adaptive thinking and
//! its migration guides of Opus 4.7, Opus 5 and Opus 5.5.

/// A generation. Models whose name has none, including other providers', count as old and get only parameters that all models accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generation {
    /// Major and minor number.
    version: (u8, u8),
    always_thinks: bool,
}

impl Generation {
    /// The generation of a model by its name, with anything that a cloud or gateway puts around it: `claude-opus-4-8`,
    /// `us.anthropic.claude-3-7-sonnet-20250219-v1:0`, `anthropic/claude-sonnet-4.5`.
    pub(crate) fn of(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let Some(start) = model.find("claude") else {
            return Self { version: (0, 0), always_thinks: false };
        };
        let name = &model[start..];
        let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric()).skip_while(|part| number(part).is_none());
        let major = parts.next().and_then(number);
        let minor = parts.next().and_then(number).unwrap_or(0);
        // The preview of Mythos has the rules of the fifth generation, but no number.
        let version = major.map_or(if name.contains("mythos") { (5, 0) } else { (0, 0) }, |major| (major, minor));
        let is = |family: &str| name.contains(family);
        let always_thinks = is("mythos") || is("fable") || (version >= (5, 5) && (is("opus") || is("sonnet")));
        Self { version, always_thinks }
    }

    /// `true` if thinking is requested as `adaptive`, with an effort.
    pub(crate) fn takes_effort(self) -> bool {
        self.version >= (4, 6)
    }

    /// `true` if thinking is requested with a budget of tokens.
    pub(crate) fn takes_budget(self) -> bool {
        self.version < (4, 7)
    }

    /// `true` if reasoning is returned only on request.
    pub(crate) fn hides_thoughts(self) -> bool {
        self.version >= (4, 7)
    }

    /// `true` if the model thinks by default.
    pub(crate) fn thinks_unasked(self) -> bool {
        self.version >= (5, 0)
    }

    /// `true` if thinking cannot be turned off.
    pub(crate) fn always_thinks(self) -> bool {
        self.always_thinks
    }

    /// `true` if the model accepts cache points on Bedrock.
    #[cfg(feature = "bedrock")]
    pub(crate) fn caches_on_bedrock(self) -> bool {
        self.version >= (3, 5)
    }

    /// `true` if temperature and nucleus sampling cannot be set.
    pub(crate) fn samples_its_own_way(self) -> bool {
        self.version >= (4, 7)
    }
}

/// A part of a version number; dates have more digits.
fn number(part: &str) -> Option<u8> {
    Some(part).filter(|part| part.len() <= 2).and_then(|part| part.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_wherever_a_name_has_them() {
        for (model, version) in [
            ("claude-2.1", (2, 1)),
            ("claude-3-haiku-20240307", (3, 0)),
            ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", (3, 7)),
            ("claude-sonnet-4-20250514", (4, 0)),
            ("claude-opus-4@20250514", (4, 0)),
            ("anthropic/claude-sonnet-4.5", (4, 5)),
            ("claude-haiku-4-5-20251001", (4, 5)),
            ("anthropic.claude-opus-4-6-v1", (4, 6)),
            ("claude-opus-4-8", (4, 8)),
            ("claude-sonnet-5", (5, 0)),
            ("Claude-Fable-5-1", (5, 1)),
            ("claude-mythos-preview", (5, 0)),
            ("claude-instant", (0, 0)),
            ("deepseek-v3", (0, 0)),
            ("", (0, 0)),
        ] {
            assert_eq!(Generation::of(model).version, version, "{model}");
        }
    }

    #[test]
    fn some_families_cannot_stop_thinking() {
        for (model, always) in [
            ("claude-fable-5", true),
            ("claude-mythos-preview", true),
            ("claude-opus-5-5", true),
            ("claude-opus-5", false),
            ("claude-haiku-5-5", false),
            ("claude-sonnet-4-5", false),
        ] {
            assert_eq!(Generation::of(model).always_thinks(), always, "{model}");
        }
    }
}
