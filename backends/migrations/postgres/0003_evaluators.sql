-- A benchmark may have a repaired form of its official evaluator.

ALTER TABLE metrics DROP CONSTRAINT metrics_evaluator_check;
ALTER TABLE metrics ADD CONSTRAINT metrics_evaluator_check CHECK (evaluator IN ('official', 'official_fixed', 'paper'));
