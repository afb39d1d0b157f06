//! Prices that a lock gives to the models which it names.

use regatta_proto::{
    BenchmarkLock, BenchmarkSpec, EndpointSpec, Judge, ModelSpec, Panel, Price, PriceSource, SweepSpec,
};

use super::{PlanError, field};
use crate::pricing::Pricing;

/// Prices of the models of a spec. With a budget each must be known.
#[derive(Clone, Copy)]
pub(super) struct Prices<'a> {
    pub(super) spec: &'a SweepSpec,
    pub(super) pricing: Pricing<'a>,
    /// Endpoint of models at one that the spec does not list.
    pub(super) unlisted: &'a EndpointSpec,
}

impl Prices<'_> {
    fn of(&self, model: &ModelSpec) -> (Option<Price>, PriceSource) {
        let endpoint = self.spec.endpoints.get(&model.id.endpoint).unwrap_or(self.unlisted);
        self.pricing.of(endpoint, model)
    }

    /// The models under test with their prices, and where each price is known from.
    pub(super) fn of_models(&self) -> Result<(Vec<ModelSpec>, Vec<PriceSource>), PlanError> {
        let mut models = self.spec.models.clone();
        let mut sources = Vec::new();
        for (position, model) in models.iter_mut().enumerate() {
            let (price, source) = self.of(model);
            if price.is_none() && (self.spec.budget_usd.is_some() || model.budget_usd.is_some()) {
                return self.unknown(format!("models[{position}]"), "price", model);
            }
            model.price = price;
            sources.push(source);
        }
        Ok((models, sources))
    }

    /// Writes the prices of all other models into the lock of the benchmark at `place`.
    pub(super) fn write(
        &self,
        place: &str,
        wanted: &BenchmarkSpec,
        locked: &mut BenchmarkLock,
    ) -> Result<(), PlanError> {
        for (role, model) in locked.roles.iter_mut() {
            self.write_to(format!("{place}.roles.{role}"), model)?;
        }
        for (cast, members) in &mut locked.casts {
            for (member, model) in members {
                self.write_to(format!("{place}.casts.{cast}.{member}"), model)?;
            }
        }
        match &mut locked.judge {
            Some(Judge::Panel(panel)) => self.write_to_panel(&format!("{place}.judge"), panel)?,
            Some(judge) => {
                let mut model = judge.members().remove(0);
                let said = wanted.judge_price.clone().or_else(|| model.price.clone());
                locked.judge_price = self.of(&ModelSpec { price: said, ..model.clone() }).0;
                if self.spec.budget_usd.is_some() && locked.judge_price.is_none() {
                    return self.unknown(format!("{place}.judge_price"), "judge_price", &model);
                }
                // Said once.
                model.price = None;
                *judge = Judge::of(model);
            }
            None => {}
        }
        let audit_place = format!("{place}.audit.judge");
        match locked.audit.as_mut().map(|audit| &mut audit.judge) {
            Some(Judge::Panel(panel)) => self.write_to_panel(&audit_place, panel)?,
            Some(judge) => {
                let mut model = judge.members().remove(0);
                self.write_to(audit_place, &mut model)?;
                *judge = Judge::of(model);
            }
            None => {}
        }
        Ok(())
    }

    fn write_to_panel(&self, place: &str, panel: &mut Panel) -> Result<(), PlanError> {
        for (position, member) in panel.panel.iter_mut().enumerate() {
            self.write_to(format!("{place}.panel[{position}]"), member)?;
        }
        Ok(())
    }

    fn write_to(&self, place: String, model: &mut ModelSpec) -> Result<(), PlanError> {
        model.price = self.of(model).0;
        if self.spec.budget_usd.is_some() && model.price.is_none() {
            return self.unknown(place, "price", model);
        }
        Ok(())
    }

    fn unknown<T>(&self, place: String, key: &str, model: &ModelSpec) -> Result<T, PlanError> {
        let advice = self.pricing.advice(key);
        field(place, format!("the price of {} is unknown, so budget_usd cannot be kept; {advice}", model.id))
    }
}
