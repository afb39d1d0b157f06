#!/usr/bin/env python3
"""Writes the chart's Grafana dashboards.

    helm/tools/dashboards.py            writes them
    helm/tools/dashboards.py --check    fails when they are out of date
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "regatta" / "dashboards"
NS = 'namespace=~"$namespace"'
EP = f'{NS},endpoint=~"$endpoint"'
SW = f'{NS},sweep=~"$sweep"'


def stat(title, expr, unit="short", **more):
    return {"type": "stat", "title": title, "unit": unit, "targets": [(expr, title)], "w": 4, "h": 4, **more}


def graph(title, *targets, unit="short", w=12):
    return {"type": "timeseries", "title": title, "unit": unit, "targets": targets, "w": w, "h": 8}


RATE = "$__rate_interval"
DASHBOARDS = {
    "fleet": ("Fleet", {}, [
        stat("Leaders", f"sum(regatta_coordinator_leads{{{NS}}})"),
        stat("Sweeps running", f"max(regatta_coordinator_sweeps_running{{{NS}}})"),
        stat("Sessions dispatched", f"sum(regatta_coordinator_window_sessions{{{NS}}})"),
        stat("Sessions in flight", f"sum(regatta_worker_sessions_in_flight{{{NS}}})"),
        stat("Reports waiting", f"max(regatta_coordinator_reports_waiting{{{NS}}})"),
        stat("Dead letters", f"max(regatta_coordinator_dead_letters{{{NS}}})"),
        graph("Sessions recorded", (f"sum by (outcome) (rate(regatta_sessions_total{{{NS}}}[{RATE}]))", "{{outcome}}"), unit="reqps"),
        graph("Sessions ended in workers", (f"sum by (outcome) (rate(regatta_worker_sessions_total{{{NS}}}[{RATE}]))", "{{outcome}}"), unit="reqps"),
        graph("Dispatched and not yet recorded", (f"sum by (queue) (regatta_coordinator_window_sessions{{{NS}}})", "{{queue}}")),
        graph("Sessions in flight, by worker", (f"regatta_worker_sessions_in_flight{{{NS}}}", "{{instance}}")),
        graph("Endpoints that cannot be served, by worker", (f"regatta_worker_endpoints_unserved{{{NS}}}", "{{instance}}")),
        graph("Attempts that did not count", (f"sum by (kind) (rate(regatta_surplus_attempts_total{{{NS}}}[{RATE}]))", "{{kind}}"), unit="reqps"),
        graph("Redelivered jobs", (f"sum(rate(regatta_worker_redeliveries_total{{{NS}}}[{RATE}]))", "redeliveries"),
              (f"sum(rate(regatta_coordinator_reconciled_total{{{NS}}}[{RATE}]))", "dispatched again"), unit="reqps"),
        graph("Reports recorded at once", (f"histogram_quantile(0.5, sum by (le) (rate(regatta_scorer_batch_reports_bucket{{{NS}}}[{RATE}])))", "median"),
              (f"histogram_quantile(0.95, sum by (le) (rate(regatta_scorer_batch_reports_bucket{{{NS}}}[{RATE}])))", "95 %")),
        graph("Failures", (f"sum(rate(regatta_coordinator_failed_ticks_total{{{NS}}}[{RATE}]))", "ticks of the coordinator"),
              (f"sum(rate(regatta_scorer_failed_batches_total{{{NS}}}[{RATE}]))", "batches of scorers"),
              (f"sum(rate(regatta_worker_report_batches_lost_total{{{NS}}}[{RATE}]))", "reports of workers"), unit="reqps"),
    ]),
    "sweep": ("Sweep", {"sweep": "label_values(regatta_coordinator_forecast_dollars, sweep)"}, [
        stat("Sessions not yet recorded", f'sum(regatta_coordinator_window_sessions{{{NS},queue=~"($sweep)[.].*"}})'),
        stat("Forecast", f'max(regatta_coordinator_forecast_dollars{{{SW},bound="expected"}})', "currencyUSD"),
        stat("Budget left", f"sum(regatta_coordinator_budget_left_dollars{{{SW}}})", "currencyUSD"),
        graph("Dispatched and not yet recorded, by queue", (f'sum by (queue) (regatta_coordinator_window_sessions{{{NS},queue=~"($sweep)[.].*"}})', "{{queue}}"), w=24),
        graph("Forecast of the cost at its end", (f"max by (sweep, bound) (regatta_coordinator_forecast_dollars{{{SW}}})", "{{sweep}} {{bound}}"), unit="currencyUSD"),
        graph("Budget left", (f"max by (sweep) (regatta_coordinator_budget_left_dollars{{{SW}}})", "{{sweep}}"), unit="currencyUSD"),
        graph("Sessions recorded, all sweeps", (f"sum by (outcome) (rate(regatta_sessions_total{{{NS}}}[{RATE}]))", "{{outcome}}"), unit="reqps"),
        graph("Questions to judges, all sweeps", (f"sum(rate(regatta_questions_total{{{NS}}}[{RATE}]))", "questions"), unit="reqps"),
        graph("Batches open, all sweeps", (f"sum(regatta_worker_batches_open{{{NS}}})", "open")),
        graph("Batches, all sweeps", (f"sum by (state) (rate(regatta_worker_batches_total{{{NS}}}[{RATE}]))", "{{state}}"), unit="reqps"),
    ]),
    "endpoints": ("Endpoints", {"endpoint": "label_values(regatta_llm_pool_factor, endpoint)"}, [
        graph("Calls", (f"sum by (endpoint, code, class) (rate(regatta_llm_calls_total{{{EP}}}[{RATE}]))", "{{endpoint}} {{code}} {{class}}"), unit="reqps"),
        graph("Share of failed calls", (f'sum by (endpoint) (rate(regatta_llm_calls_total{{{EP},class!="ok"}}[{RATE}])) / (sum by (endpoint) (rate(regatta_llm_calls_total{{{EP}}}[{RATE}])) > 0)', "{{endpoint}}"), unit="percentunit"),
        graph("Latency", (f"histogram_quantile(0.5, sum by (endpoint, le) (rate(regatta_llm_call_duration_seconds_bucket{{{EP}}}[{RATE}])))", "{{endpoint}} median"),
              (f"histogram_quantile(0.95, sum by (endpoint, le) (rate(regatta_llm_call_duration_seconds_bucket{{{EP}}}[{RATE}])))", "{{endpoint}} 95 %"), unit="s"),
        graph("Time to the first token (streamed answers)", (f"histogram_quantile(0.95, sum by (endpoint, le) (rate(regatta_llm_first_token_seconds_bucket{{{EP}}}[{RATE}])))", "{{endpoint}} 95 %"), unit="s"),
        graph("Calls in flight", (f"sum by (endpoint) (regatta_llm_calls_in_flight{{{EP}}})", "{{endpoint}}")),
        graph("Calls that wait for permits", (f"sum by (endpoint) (regatta_llm_permits_waiting{{{EP}}})", "{{endpoint}}")),
        graph("Wait for permits", (f"histogram_quantile(0.95, sum by (endpoint, le) (rate(regatta_llm_permit_wait_seconds_bucket{{{EP}}}[{RATE}])))", "{{endpoint}} 95 %"), unit="s"),
        graph("Part of the limits in use", (f"min by (endpoint) (regatta_llm_pool_factor{{{EP}}})", "{{endpoint}}"), unit="percentunit"),
        graph("Retries", (f"sum by (endpoint, class) (rate(regatta_llm_retries_total{{{EP}}}[{RATE}]))", "{{endpoint}} {{class}}"), unit="reqps"),
        graph("Open breakers, and requests given up", (f"sum by (endpoint) (regatta_llm_breaker_open{{{EP}}})", "{{endpoint}} breakers"),
              (f"sum by (endpoint) (increase(regatta_llm_quarantined_total{{{EP}}}[1h]))", "{{endpoint}} given up in an hour")),
    ]),
    "money": ("Money", {}, [
        stat("Recorded cost", f"sum(regatta_cost_nanodollars_total{{{NS}}}) / 1e9", "currencyUSD"),
        stat("Of that wasted", f"sum(regatta_wasted_nanodollars_total{{{NS}}}) / 1e9", "currencyUSD"),
        stat("Dollars an hour", f"sum(rate(regatta_llm_cost_nanodollars_total{{{NS}}}[15m])) * 3600 / 1e9", "currencyUSD"),
        stat("Calls without a price", f"sum(regatta_unpriced_calls_total{{{NS}}})"),
        graph("Dollars an hour, by endpoint", (f"sum by (endpoint) (rate(regatta_llm_cost_nanodollars_total{{{NS}}}[15m])) * 3600 / 1e9", "{{endpoint}}"), unit="currencyUSD"),
        graph("Budgets left", (f"max by (sweep) (regatta_coordinator_budget_left_dollars{{{NS}}}) / (max by (sweep) (regatta_coordinator_budget_dollars{{{NS}}}) > 0)", "{{sweep}}"), unit="percentunit"),
        graph("Nobody has reserved or spent", (f"min by (sweep, model) (regatta_llm_budget_left_nanodollars{{{NS}}}) / 1e9", "{{sweep}} {{model}}"), unit="currencyUSD"),
        graph("Forecasts", (f'max by (sweep) (regatta_coordinator_forecast_dollars{{{NS},bound="expected"}})', "{{sweep}}"), unit="currencyUSD"),
        graph("Tokens, recorded", (f"sum by (kind) (rate(regatta_tokens_total{{{NS}}}[{RATE}]))", "{{kind}}")),
        graph("Tokens, by endpoint", (f"sum by (endpoint, kind) (rate(regatta_llm_tokens_total{{{NS}}}[{RATE}]))", "{{endpoint}} {{kind}}")),
        graph("Answers whose cost is unknown", (f"sum by (endpoint) (rate(regatta_llm_unpriced_calls_total{{{NS}}}[{RATE}]))", "{{endpoint}}"), unit="reqps"),
        graph("Wasted", (f"sum(rate(regatta_wasted_nanodollars_total{{{NS}}}[{RATE}])) * 3600 / 1e9", "dollars an hour"), unit="currencyUSD"),
    ]),
}


def variable(name, query):
    return {
        "name": name, "label": name, "type": "query", "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": {"query": query, "refId": name}, "definition": query, "includeAll": True, "multi": True, "allValue": ".*",
        "current": {"text": "All", "value": "$__all"}, "refresh": 2, "sort": 1,
    }


def panels(described):
    x = y = row = 0
    for number, panel in enumerate(described, 1):
        if x + panel["w"] > 24:
            x, y, row = 0, y + row, 0
        targets = [
            {"refId": chr(ord("A") + index), "expr": expr, "legendFormat": legend, "datasource": {"type": "prometheus", "uid": "${datasource}"}}
            for index, (expr, legend) in enumerate(panel["targets"])
        ]
        yield {
            "id": number, "type": panel["type"], "title": panel["title"], "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "gridPos": {"x": x, "y": y, "w": panel["w"], "h": panel["h"]}, "targets": targets,
            "fieldConfig": {"defaults": {"unit": panel["unit"], "min": 0}, "overrides": []},
        }
        x, row = x + panel["w"], max(row, panel["h"])


def dashboard(name, title, variables, described):
    namespaces = variable("namespace", "label_values(regatta_coordinator_leads, namespace)")
    datasource = {"name": "datasource", "label": "datasource", "type": "datasource", "query": "prometheus"}
    return {
        "uid": f"regatta-{name}", "title": f"Regatta / {title}", "tags": ["regatta"], "schemaVersion": 39, "editable": True,
        "refresh": "30s", "time": {"from": "now-3h", "to": "now"}, "timezone": "browser",
        "templating": {"list": [datasource, namespaces, *(variable(key, query) for key, query in variables.items())]},
        "panels": list(panels(described)),
    }


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, (title, variables, described) in DASHBOARDS.items():
        path = FOLDER / f"{name}.json"
        written = json.dumps(dashboard(name, title, variables, described), indent=1, ensure_ascii=False) + "\n"
        if "--check" not in sys.argv:
            path.write_text(written)
        elif not path.exists() or path.read_text() != written:
            raise SystemExit(f"{path} is out of date; run helm/tools/dashboards.py")


main()
