//! JSON Schemas. Nothing outside of a schema is read: a reference to a file or an address is an error.

use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use serde_json::Value;

/// Compiled schemas by position.
pub(crate) struct Validator {
    schemas: Schemas,
    compiled: Vec<SchemaIndex>,
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Validator({} schemas)", self.compiled.len())
    }
}

/// Schemas that are being compiled; equal ones are compiled once.
#[derive(Default)]
pub(super) struct Building {
    seen: Vec<Value>,
    schemas: Schemas,
    compiled: Vec<SchemaIndex>,
}

impl Building {
    /// Position of `schema`.
    ///
    /// # Errors
    /// When it is no schema, or refers to something outside.
    pub(super) fn add(&mut self, schema: &Value) -> Result<usize, String> {
        if let Some(at) = self.seen.iter().position(|seen| seen == schema) {
            return Ok(at);
        }
        let name = format!("https://schema.invalid/{}", self.seen.len());
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(Nothing));
        let failed = |error: boon::CompileError| format!("{error:#}").replace('\n', " ");
        compiler.add_resource(&name, schema.clone()).map_err(failed)?;
        self.compiled.push(compiler.compile(&name, &mut self.schemas).map_err(failed)?);
        self.seen.push(schema.clone());
        Ok(self.seen.len() - 1)
    }

    pub(super) fn done(self) -> Validator {
        Validator { schemas: self.schemas, compiled: self.compiled }
    }
}

impl Validator {
    /// `true` if `value` fits the schema at `at`.
    pub(super) fn fits(&self, at: usize, value: &Value) -> bool {
        self.compiled.get(at).is_some_and(|index| self.schemas.validate(value, *index).is_ok())
    }
}

/// Loads nothing.
struct Nothing;

impl UrlLoader for Nothing {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is outside of the schema; write it into the schema").into())
    }
}
