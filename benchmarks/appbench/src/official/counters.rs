//! Counters that are summed over items, and known by the names of the golden files.

/// Defines a struct of counters with their names.
macro_rules! counters {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
        pub(crate) struct $name {
            $($(#[$field_about])* pub(crate) $field: u64),+
        }

        impl $name {
            /// Names and values.
            pub(crate) const fn entries(&self) -> [(&'static str, u64); [$(stringify!($field)),+].len()] {
                [$((stringify!($field), self.$field)),+]
            }

            /// The counters whose values `value` tells by name.
            pub(crate) fn of(value: impl Fn(&str) -> u64) -> Self {
                Self { $($field: value(stringify!($field))),+ }
            }

            /// Adds those of another item.
            pub(crate) const fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }
        }
    };
}

pub(crate) use counters;

/// A counter as a flat value. No plan has 2^53 arguments.
pub(crate) fn to_value(counter: u64) -> f64 {
    counter as f64
}

/// A flat value as the counter that it was.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a counter")]
pub(crate) fn to_counter(value: f64) -> u64 {
    value as u64
}
