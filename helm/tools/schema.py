#!/usr/bin/env python3
"""Writes the chart's values.schema.json: types from the defaults in values.yaml, and below what a type does not say.

    helm/tools/schema.py            writes it
    helm/tools/schema.py --check    fails when it is out of date
"""

import json
import sys

from values import CHART, defaults, documented

STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
OBJECTS = {"type": "array", "items": {"type": "object"}}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 20}
SECRET_KEY = {
    "type": "object",
    "properties": {"secret": {"type": "string", "minLength": 1}, "key": {"type": "string", "minLength": 1}},
    "required": ["secret", "key"],
    "additionalProperties": False,
}

# By the last part of a value's path.
BY_NAME = {
    "commonLabels": STRINGS, "podAnnotations": STRINGS, "annotations": STRINGS, "labels": STRINGS, "dashboardLabels": STRINGS,
    "nodeSelector": STRINGS, "tolerations": OBJECTS, "affinity": {"type": "object"}, "env": OBJECTS, "volumes": OBJECTS,
    "volumeMounts": OBJECTS, "apiFrom": OBJECTS, "metricsFrom": OBJECTS, "services": OBJECTS,
    "resources": {
        "type": "object",
        "properties": {"requests": {"type": "object"}, "limits": {"type": "object"}},
        "required": ["requests", "limits"],
        "additionalProperties": False,
    },
    "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "minAvailable": {"type": ["integer", "string", "null"]},
    "maxUnavailable": {"type": ["integer", "string", "null"]},
    "pullSecrets": {"type": "array", "items": {"type": "string"}},
    "disabledAlerts": {"type": "array", "items": {"type": "string"}},
    "keys": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "arguments": {"type": "array", "items": {"type": "string"}},
    "servicePorts": {"type": "array", "items": {"type": "integer"}},
    "endpointPorts": {"type": "array", "items": {"type": "integer"}},
    "apiServer": OBJECTS, "apiServerPorts": {"type": "array", "items": {"type": "integer"}},
    "data": STRINGS, "spec": {"type": "object"}, "simulation": {"type": "object"},
    "memoryBudgetMib": {"type": "integer", "anyOf": [{"const": 0}, {"minimum": 32, "maximum": 65536}]},
    "costPerHourMax": {"type": "number", "exclusiveMinimum": 0},
}
# By the whole path; goes before the others.
BY_PATH = {
    "log.format": {"enum": ["json", "text"]},
    "traces.share": {"type": "number", "minimum": 0, "maximum": 1},
    "networkPolicy.traces": OBJECTS,
    "networkPolicy.tracePorts": {"type": "array", "items": {"type": "integer"}},
    "coordinator.replicas": {"type": "integer", "minimum": 1},
    "coordinator.cachedDays": {"type": "integer", "minimum": 0, "maximum": 3650},
    "coordinator.service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "scorer.batch": {"type": "integer", "minimum": 1, "maximum": 10000},
    "scorer.autoscaling.kind": {"enum": ["none", "keda"]},
    "worker.defaults.autoscaling.kind": {"enum": ["none", "keda", "hpa"]},
    "worker.defaults.sessionsPerReplica": {"type": "integer", "minimum": 1},
    "worker.defaults.autoscaling.maxReplicas": {"type": "integer", "minimum": 1},
    "scorer.autoscaling.maxReplicas": {"type": "integer", "minimum": 1},
    # The consumer time-out of brokers is 1800 seconds unless changed.
    "worker.defaults.handOverAfterSeconds": {"type": "integer", "minimum": 60},
    "worker.defaults.endpoints": {
        "type": "object",
        # An endpoint's name as specs have it. Names of queues, by which pools are scaled, end in one of at most 170 bytes.
        "propertyNames": {"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": 170},
        "additionalProperties": {
            "type": "object",
            "properties": {"concurrency": {"type": "integer", "minimum": 1}},
            "required": ["concurrency"],
            "additionalProperties": False,
        },
    },
    "worker.defaults.agentPods.egress": OBJECTS,
    "worker.defaults.bridge.from": OBJECTS,
    # Ports below are not for users without rights, and 8080 is taken.
    "worker.defaults.bridge.port": {"type": "integer", "minimum": 1024, "maximum": 65535, "not": {"const": 8080}},
    "worker.defaults.keys": {"type": "object", "additionalProperties": SECRET_KEY},
    "externalSecrets.store.kind": {"enum": ["SecretStore", "ClusterSecretStore"]},
    "externalSecrets.secrets": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "property": {"type": "string"}},
                "required": ["key"],
                "additionalProperties": False,
            },
        },
    },
    "networkPolicy.endpoints": OBJECTS,
    "coordinator.policy": {
        "type": "object",
        "properties": {
            "oidc": {"type": "array", "items": {"type": "object"}},
            **{name: {"type": "object"} for name in ("owners", "certificates", "webhooks", "commands", "coded")},
        },
        "additionalProperties": False,
    },
    "scheduleDefaults.schedule": {"type": "object"},
    "scheduleDefaults.gate": {"type": "object"},
    "worker.policy": {
        "type": "object",
        "properties": {name: {"type": "object"} for name in ("agents", "containers", "keys", "egress", "encoders", "coded")},
        "additionalProperties": False,
    },
    "topologySpread.whenUnsatisfiable": {"enum": ["ScheduleAnyway", "DoNotSchedule"]},
    "podSecurity.runAsUser": {"type": "integer", "minimum": 1},
}


def schema(path, value, comments):
    name = ".".join(path)
    found = BY_PATH.get(name) or (BY_NAME.get(path[-1]) if path else None)
    if not found:
        match value:
            case bool():
                found = {"type": "boolean"}
            case int():
                found = {"type": "integer", "minimum": 0}
            case str():
                found = {"type": "string"}
            case dict() if value:
                properties = {key: schema((*path, key), below, comments) for key, below in value.items()}
                found = {"type": "object", "properties": properties, "additionalProperties": False}
            case _:
                raise SystemExit(f"helm/tools/schema.py: say what {name} may be")
    comment = " ".join(line for line in comments.get(path, []) if line and not line.startswith("    "))
    return {"description": comment, **found} if comment else found


def main():
    values, comments = defaults(), dict(documented())
    pools, sweeps = values["worker"].pop("pools"), values.pop("sweeps")
    schedules = values.pop("schedules")
    assert pools == {"default": {}} and sweeps == {} and schedules == {}
    whole = {"$schema": "http://json-schema.org/draft-07/schema#", **schema((), values, comments)}
    # A pool may have what the defaults have, a sweep what theirs have.
    worker = whole["properties"]["worker"]["properties"]
    of_one = {"propertyNames": NAME, "type": "object"}
    worker["pools"] = {**of_one, "additionalProperties": {"$ref": "#/properties/worker/properties/defaults"}}
    sweep = {"allOf": [{"$ref": "#/properties/sweepDefaults"}], "required": ["spec"]}
    whole["properties"]["sweeps"] = {**of_one, "additionalProperties": sweep}
    schedule = {"allOf": [{"$ref": "#/properties/scheduleDefaults"}], "required": ["schedule", "spec"]}
    whole["properties"]["schedules"] = {**of_one, "additionalProperties": schedule}
    # Helm hands its own to every chart.
    whole["properties"]["global"] = {"type": "object"}
    path, written = CHART / "values.schema.json", json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    if "--check" not in sys.argv:
        path.write_text(written)
    elif not path.exists() or path.read_text() != written:
        raise SystemExit("helm/regatta/values.schema.json is out of date; run helm/tools/schema.py")


main()
