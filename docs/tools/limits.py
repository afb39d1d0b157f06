#!/usr/bin/env python3
"""Writes the table of limits of SECURITY.md, with every figure as the code has it.

    docs/tools/limits.py            writes it
    docs/tools/limits.py --check    fails when it is out of date, or when a limit of the code is neither in it nor among OTHERS

Both take another page than SECURITY.md as a further argument.

A figure is named by its constant, as in {size proto/src/spec_file.rs SPEC_BYTES_MAX}, or, where the code has no constant of its own, by a
name of PLACES. The first word says how it is written: size (bytes), mib (a number of MiB), count, word (one to ten in letters), time (seconds),
hours or days. A digit that comes from nowhere in the code is written {fixed 64 bits}.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "SECURITY.md"
BEGIN, END = "<!-- limits: written by docs/tools/limits.py -->", "<!-- end of limits -->"

# Numbers within expressions of the code: file, and what stands around the number.
PLACES = {
    "connections": ("cli/src/listener.rs", r"Limits \{ connections: (\w+),"),
    "connections-of-one": ("cli/src/listener.rs", r"connections_of_one: (\w+), head"),
    "head-time": ("cli/src/listener.rs", r"head: (Duration::\w+\(\w+\)) \};"),
    "connections-option": ("cli/src/args/roles.rs", r'"REGATTA_CONNECTIONS_PER_ADDRESS", default_value_t = (\w+),'),
    "memory-budget-least": ("cli/src/args/roles.rs", r'"REGATTA_MEMORY_BUDGET", value_parser = [^)]*\)\.range\((\w+)\.\.='),
    "memory-budget-most": ("cli/src/args/roles.rs", r'"REGATTA_MEMORY_BUDGET", value_parser = [^)]*\)\.range\(\w+\.\.=(\w+)\)'),
    "agent-cpu": ("processes/src/limits.rs", r"Self \{ cpu_s: ([^,]+),"),
    "agent-memory": ("processes/src/limits.rs", r"Self \{ cpu_s: [^,]+, memory_mb: ([^,]+),"),
    "agent-file": ("processes/src/limits.rs", r"Self \{ [^}]*file_mb: ([^,]+),"),
    "agent-files": ("processes/src/limits.rs", r"Self \{ [^}]* files: ([^,]+),"),
    "output-default": ("proto/src/external.rs", r"fn output_bytes_max\(\) -> u32 \{\s*([^}]+?)\s*\}"),
    "calls-default": ("proto/src/external.rs", r"fn calls_max\(\) -> u32 \{\s*([^}]+?)\s*\}"),
    "quarantine-default": ("proto/src/endpoint.rs", r"quarantine_after: (\w+) \}"),
    "endpoint-concurrency": ("proto/src/spec_file/endpoint.rs", r"\(1\.\.=(\w+)\)\.contains\(&endpoint\.limits\.concurrency\)"),
    "endpoint-attempts": ("proto/src/spec_file/endpoint.rs", r"\(1\.\.=(\w+)\)\.contains\(&endpoint\.retries\.attempts\)"),
    "batch-requests": ("proto/src/spec_file/endpoint.rs", r"\(1\.\.=(\w+)\)\.contains\(&batch\.requests_max\)"),
    "keep-unused-least": ("cli/src/args/roles.rs", r'"REGATTA_KEEP_UNUSED_H", [^)]*\)\.range\((\w+)\.\.='),
    "keep-unused-most": ("cli/src/args/roles.rs", r'"REGATTA_KEEP_UNUSED_H", [^)]*\)\.range\(\w+\.\.=(\w+)\)'),
    "cached-days-least": ("cli/src/args/roles.rs", r'"REGATTA_CACHED_DAYS", [^)]*\)\.range\((\w+)\.\.='),
    "cached-days-most": ("cli/src/args/roles.rs", r'"REGATTA_CACHED_DAYS", [^)]*\)\.range\(\w+\.\.=(\w+)\)'),
    "coded-call": ("benchmarks/declared/src/definition/coded.rs", r"Self \{ load_s[^}]*call_s: (\w+),"),
    "coded-load": ("benchmarks/declared/src/definition/coded.rs", r"Self \{ load_s: (\w+),"),
    "coded-memory": ("benchmarks/declared/src/definition/coded.rs", r"Self \{ load_s[^}]*memory_mb: (\w+),"),
    "coded-answer": ("benchmarks/declared/src/definition/coded.rs", r"Self \{ load_s[^}]*answer_mb: (\w+),"),
    "coded-replies": ("benchmarks/declared/src/definition/coded.rs", r"Self \{ load_s[^}]*replies: (\w+),"),
    "coded-processes-least": ("benchmarks/declared/src/coded/opening.rs", r"PROCESSES: \(usize, usize\) = \((\w+),"),
    "coded-processes-usual": ("benchmarks/declared/src/coded/opening.rs", r"PROCESSES: \(usize, usize\) = \(\w+, (\w+)\)"),
    "command-default": ("cli/src/roles/channels/command.rs", r"fn \w+\(\) -> u64 \{\s*(\w+)\s*\}"),
    "message": ("backends/src/queue/rabbitmq/config.rs", r"message_bytes_max: (\d[^,]*),"),
    "log-members": ("export/src/predictions/eval.rs", r"USUAL: Self = Self \{ members: ([^,]+),"),
    "log-sample": ("export/src/predictions/eval.rs", r"USUAL: Self = Self \{ [^}]*sample_bytes: ([^,]+),"),
    "log-all": ("export/src/predictions/eval.rs", r"USUAL: Self = Self \{ [^}]* bytes: ([^ ]+ << [^ ]+) \}"),
}

ROWS = [
    ("spec", "{size proto/src/spec_file.rs SPEC_BYTES_MAX}, {size proto/src/spec_file/bounds.rs SPEC_JSON_BYTES_MAX} as JSON; {count proto/src/yaml.rs NESTING_MAX} open brackets", "refused with the line"),
    ("its benchmarks, models, endpoints, agents", "{count proto/src/spec_file/bounds.rs BENCHMARKS_MAX}, {count proto/src/spec_file/bounds.rs MODELS_MAX}, {count proto/src/spec_file/bounds.rs ENDPOINTS_MAX}, {count proto/src/spec_file/bounds.rs AGENTS_MAX}", "refused with the field"),
    ("its trials, canaries of a benchmark, rounds of a question, weight", "{count proto/src/spec_file/bounds.rs TRIALS_MAX}, {count proto/src/spec_file/bounds.rs CANARIES_MAX}, {count proto/src/decide.rs ROUNDS_MAX}, {count proto/src/spec_file/bounds.rs WEIGHT_MAX}", "refused with the field"),
    ("a benchmark of a spec: settings, tasks, items, evaluators, casts; members of a cast; a cast's name", "{count proto/src/spec_file/bounds.rs SETTINGS_MAX}, {count proto/src/spec_file/bounds.rs TASKS_MAX}, {count proto/src/spec_file/bounds.rs ITEMS_MAX}, {count proto/src/spec_file/bounds.rs EVALUATORS_MAX}, {count proto/src/spec_file/bounds.rs CASTS_MAX}; {count proto/src/spec_file/bounds.rs CAST_MEMBERS_MAX}; {size proto/src/spec_file/agents.rs CAST_NAME_MAX}", "refused with the field"),
    ("judges of a panel; times that each is asked", "{count proto/src/spec_file/cast.rs MEMBERS_MAX}; {count proto/src/spec_file/cast.rs REPEATS_MAX}", "refused with the field"),
    ("a model of a spec with its price, as JSON", "{size proto/src/spec_file/bounds.rs MODEL_BYTES_MAX}", "refused with the field"),
    ("an endpoint of a spec, as JSON; headers, name and value of one; fields of bodies; address", "{size proto/src/spec_file/bounds.rs ENDPOINT_BYTES_MAX}; {count proto/src/spec_file/bounds.rs HEADERS_MAX}, {size proto/src/spec_file/bounds.rs HEADER_NAME_BYTES_MAX}, {size proto/src/spec_file/bounds.rs HEADER_VALUE_BYTES_MAX}; {size proto/src/spec_file/bounds.rs BODY_BYTES_MAX}; {size proto/src/spec_file/bounds.rs URL_BYTES_MAX}", "refused with the field"),
    ("its concurrency, tries, requests of a batch; any of its times", "{count @endpoint-concurrency}, {count @endpoint-attempts}, {count @batch-requests}; {days proto/src/spec_file/bounds.rs TIME_MS_MAX}", "refused with the field"),
    ("an agent of a spec, as JSON; its image and network; instances on a worker", "{size proto/src/spec_file/bounds.rs AGENT_BYTES_MAX}; {size proto/src/spec_file/agents.rs IMAGE_MAX} each; {count proto/src/spec_file/agents.rs CONCURRENCY_MAX}", "refused with the field"),
    ("aliases of any YAML (`*name`)", "may expand a document by {size proto/src/yaml/expansion.rs ADDED_MAX}", "refused before it is read"),
    ("policy file; issuers in one; what a clock may differ", "{size cli/src/policy.rs POLICY_BYTES_MAX} ({size cli/src/roles/policy.rs POLICY_BYTES_MAX} of a coordinator); {count cli/src/roles/policy.rs ISSUERS_MAX}; {time cli/src/roles/oidc/declared.rs SKEW_MAX_S}", "the process does not start"),
    ("`benchmark.yaml`", "{size benchmarks/declared/src/definition/source.rs BYTES_MAX}, {count proto/src/yaml.rs NESTING_MAX} open brackets, {count benchmarks/declared/src/setting.rs SETTINGS_MAX} settings, names of {size benchmarks/declared/src/definition/named.rs NAME_BYTES_MAX}; its files lie in its folder, or at public addresses of https with their digests", "refused with the line"),
    ("records of a declared benchmark", "{count benchmarks/declared/src/data/mod.rs RECORDS_MAX} a file, {size benchmarks/declared/src/data/mod.rs RECORD_BYTES_MAX} each, {count benchmarks/declared/src/data/mod.rs COLUMNS_MAX} columns, {count benchmarks/declared/src/data/mod.rs DEPTH_MAX} levels; {size benchmarks/declared/src/data/parquet_file.rs TEXT_BYTES_MAX} of JSONL from a Parquet file", "refused with the line"),
    ("data file at an address: a connection, the next bytes, all of it", "{time cli/src/data/remote.rs CONNECT_TIMEOUT}, {time cli/src/data/remote.rs READ_TIMEOUT}, {time cli/src/data/remote.rs TRANSFER_TIMEOUT}; {size cli/src/data.rs FILE_BYTES_MAX}", "refused"),
    ("its templates", "{size benchmarks/declared/src/template.rs SOURCE_BYTES_MAX}, {count benchmarks/declared/src/template.rs STEPS_MAX} steps (an instruction, or {fixed 64 bytes} that are made on the way), {size benchmarks/declared/src/template.rs OUTPUT_BYTES_MAX} of text; {count benchmarks/declared/src/definition/source.rs LOAD_STEPS_MAX} steps of all together while it is loaded; they read nothing but the record", "refused with the line"),
    ("its prompts: examples, messages", "{count benchmarks/declared/src/session.rs EXAMPLES_MAX}, {count benchmarks/declared/src/session.rs MESSAGES_MAX}", "refused with the line"),
    ("its images: a file, all files; those of one conversation", "{size benchmarks/declared/src/images.rs IMAGE_BYTES_MAX}; {count benchmarks/declared/src/images.rs FILES_MAX} of {size benchmarks/declared/src/images.rs ALL_BYTES_MAX}; {count benchmarks/declared/src/images.rs IMAGES_MAX} of {size benchmarks/declared/src/images.rs CONVERSATION_BYTES_MAX}", "refused with the file or the line"),
    ("its sessions that are played, and their messages, while it is loaded", "{count benchmarks/declared/src/suite.rs PLAYED_MAX}, {count benchmarks/declared/src/suite.rs MESSAGES_PLAYED_MAX}", "the others are checked when they run"),
    ("its patterns and schemas", "linear time, {size benchmarks/declared/src/answer/pattern.rs COMPILED_BYTES_MAX} compiled; references to files and addresses are not followed", "refused with the line"),
    ("reply that it is scored by; levels of a broken JSON that are repaired", "{size benchmarks/declared/src/answer/mod.rs REPLY_BYTES_MAX}; {count benchmarks/declared/src/answer/repair.rs DEPTH_MAX}", "its end is read; it is not repaired"),
    ("golds of an item; words of those that `rougeL` compares", "{count benchmarks/declared/src/scoring/prepare.rs GOLDS_MAX}; {count benchmarks/declared/src/scoring/overlap/rouge.rs GOLD_TOKENS_MAX}", "refused with the line"),
    ("program of a benchmark: call, load", "{time @coded-call}, {time @coded-load}; up to {time benchmarks/declared/src/coded/opening.rs CALL_S_MAX} by its definition", "ended, not measured"),
    ("its answer, memory, processes", "{mib @coded-answer}, {mib @coded-memory}, one a processor ({count @coded-processes-least} to {count @coded-processes-usual}); {mib benchmarks/declared/src/coded/opening.rs ANSWER_MB_MAX}, {mib benchmarks/declared/src/coded/opening.rs MEMORY_MB_MAX}, {count benchmarks/declared/src/coded/opening.rs PROCESSES_MAX} at most", "ended, not measured"),
    ("its replies of a session, rounds and questions to judges", "{count @coded-replies} ({count benchmarks/declared/src/coded/opening.rs REPLIES_MAX}), {count benchmarks/declared/src/coded/suite.rs ROUNDS_MAX}, {count benchmarks/declared/src/coded/suite.rs QUESTIONS_MAX} a round of {size benchmarks/declared/src/coded/suite.rs PROMPT_BYTES_MAX} each", "not measured"),
    ("a request that it makes: messages, tools", "{count benchmarks/declared/src/coded/messages.rs MESSAGES_MAX}, {count benchmarks/declared/src/coded/messages.rs TOOLS_MAX}", "not measured"),
    ("its items; name of one", "{count benchmarks/declared/src/coded/items.rs ITEMS_MAX}; {size benchmarks/declared/src/coded/items.rs NAME_BYTES_MAX}", "refused"),
    ("schedules; those of an owner who is not the operator; each: name, cron, overrides, gate policy, channels", "{count coordinator/src/schedules/mod.rs SCHEDULES_MAX}; {count coordinator/src/schedules/mod.rs OWNER_SCHEDULES_MAX}; {size coordinator/src/schedules/document.rs NAME_BYTES_MAX}, {size coordinator/src/schedules/document.rs CRON_BYTES_MAX}, {size coordinator/src/schedules/document.rs DOCUMENT_BYTES_MAX}, {size coordinator/src/schedules/document.rs DOCUMENT_BYTES_MAX}, {count coordinator/src/schedules/document.rs CHANNELS_MAX}", "422"),
    ("queues that a process publishes to over one connection to the broker", "{count backends/src/queue/rabbitmq/publishers.rs QUEUES_MAX}", "the channel that was used longest ago is closed"),
    ("ticks that are made up for; tick that counts as on time; ticks of a history", "{count coordinator/src/schedules/document.rs CATCH_UP_MAX}; {days coordinator/src/schedules/document.rs LATE_WITHIN_S_MAX} late; {count coordinator/src/schedules/mod.rs HISTORY_MAX}", "422; the newest"),
    ("notices: sent at once, an answer, tries, judgement in one", "{count coordinator/src/schedules/notices.rs SENT_AT_ONCE}, {time cli/src/notice/post.rs TIMEOUT}, {count coordinator/src/schedules/notices.rs TRIES} over half a day, {size coordinator/src/schedules/notices.rs JUDGEMENT_BYTES_MAX}", "waits, tried again, given up, left out"),
    ("command of a notice", "{time cli/src/roles/channels/command.rs TIMEOUT_S_MAX} (default {count @command-default})", "killed, tried again"),
    ("notice of a run's end (`--notify`): an answer; a command", "{time cli/src/notice/post.rs TIMEOUT}; {time cli/src/notice/receiver.rs COMMAND_TIMEOUT}", "given up, said"),
    ("request to the API", "{size coordinator/src/api.rs BODY_BYTES_MAX}, a pause of {time coordinator/src/api/holding.rs PAUSE_MAX}, {time serving/src/request_body.rs BODY_TIME_MAX} in all", "413, 408"),
    ("longer ones among them at once, of one owner", "of more than {size coordinator/src/api/holding.rs SHORT_BYTES_MAX}: {count coordinator/src/api/holding.rs LONG_MAX}, {word coordinator/src/api/holding.rs LONG_OF_ONE_MAX}; others wait {time coordinator/src/api/holding.rs LONG_WAIT}", "429"),
    ("page of a list of the API", "{count coordinator/src/api/pages.rs PAGE} entries, by request {count coordinator/src/api/pages.rs PAGE_MAX}; the entry with which it reaches {size coordinator/src/api/pages.rs PAGE_BYTES_MAX} is its last", "a link to the next"),
    ("entries of a list that `regatta` reads", "{count cli/src/client.rs LISTED_MAX}", "the rest is not asked for"),
    ("verdicts that are asked for at once; their bytes in an answer", "{count coordinator/src/api/sources.rs QUESTIONS_MAX}; {size coordinator/src/api/sources.rs VERDICT_BYTES_MAX}", "422; the next request"),
    ("credential", "{size coordinator/src/api/guard.rs CREDENTIAL_BYTES_MAX}, one a request; at the pages {bytes viewer/src/access.rs TOKEN_BYTES_MAX}", "401, 400"),
    ("form of a login at the pages", "{size viewer/src/access.rs FORM_BYTES_MAX}, {time viewer/src/forms.rs FORM_TIME_MAX}", "413, 408"),
    ("tokens looked up at once", "{word coordinator/src/api/guard.rs LOOKUPS_MAX}; others wait {time coordinator/src/api/guard.rs LOOKUP_WAIT}", "429"),
    ("tokens of a ledger; those of an owner that can be used", "{count backends/src/ledger/identity.rs TOKENS_MAX}; {count backends/src/ledger/identity.rs OWNER_TOKENS_MAX}", "422"),
    ("changes that one owner asks for; owners whose changes are counted at once", "{count coordinator/src/api/rates.rs CHANGES_MAX} a minute; {count coordinator/src/api/rates.rs OWNERS_MAX}", "429"),
    ("uploads of an owner in the audit log", "{count coordinator/src/api/rates.rs UPLOADS_MAX} a minute", "counted"),
    ("what an owner has stored at a time: uploads, manifests, locks, submissions of schedules; each of them", "the owner's quota, if there is one (`stored_gib`, `--stored-gib`); as {size backends/src/ledger/storage.rs OBJECT_BYTES_MIN} at least", "422"),
    ("stored objects that nothing refers to", "none; with `--keep-unused-h` so many hours after their last use, {count @keep-unused-least} to {count @keep-unused-most}", "removed"),
    ("removal of such objects: in one request, marked at once; deleting these", "{count coordinator/src/unused.rs REMOVED_AT_ONCE}, {count coordinator/src/unused.rs CHUNK}; {time coordinator/src/unused.rs DELETED_WITHIN}", "the next one goes on"),
    ("cached responses of a deployment", "none; with `--cached-days` of coordinators so many days after they were written, {count @cached-days-least} to {count @cached-days-most}", "removed, but for a sweep that only replays them"),
    ("removal of cached responses in one request: removed, looked at", "{count coordinator/src/cached.rs REMOVED_AT_ONCE}, {count coordinator/src/cached.rs LISTED_AT_ONCE}, and the rest of a folder", "the next one goes on"),
    ("objects of earlier versions that are found in one request", "{count coordinator/src/unused/unknown.rs RECORDED_AT_ONCE}", "the next one goes on"),
    ("refusals in the audit log; a text in it", "{count coordinator/src/api/rates.rs REFUSALS_MAX} a minute of each owner, {count coordinator/src/api/rates.rs STRANGERS_REFUSALS_MAX} of strangers; {count coordinator/src/api/auditing.rs TEXT_MAX} characters, {count coordinator/src/api/auditing.rs STRANGERS_TEXT_MAX}", "counted; cut"),
    ("documents of an issuer; its keys; time for an answer", "{size cli/src/roles/oidc/keys.rs DOCUMENT_BYTES_MAX}; {count cli/src/roles/oidc/keys.rs KEYS_MAX}; {time cli/src/roles/oidc/keys.rs TIMEOUT}", "the keys before count for a day, then 503"),
    ("uploaded file", "{size coordinator/src/api/content.rs FILE_BYTES_MAX}, streamed to a disk; {word coordinator/src/api/content.rs UPLOADS_MAX} at once, with a piece of {fixed 128 KiB} at most in memory each; a pause of {time coordinator/src/api/content.rs TURN_MAX}", "413, 429, 408"),
    ("data of a submission, with recorded verdicts", "{size coordinator/src/admission.rs DATA_BYTES_MAX} in all, each listing counted; {count coordinator/src/admission.rs FILES_MAX} files a benchmark; paths of {size coordinator/src/admission.rs PATH_BYTES_MAX}; once it is parsed a third of the coordinator's memory", "422"),
    ("folder of data that `regatta` reads: a file, the files that a benchmark names in its records, levels", "{size cli/src/data.rs FILE_BYTES_MAX}, {size cli/src/data.rs FURTHER_BYTES_MAX}, {count cli/src/data.rs DEPTH_MAX}", "refused"),
    ("archives of a FlowBench data set", "{size benchmarks/flowbench/src/data/archive.rs UNPACKED_BYTES_MAX} unpacked, {size benchmarks/flowbench/src/data/archive.rs PARSED_BYTES_MAX} of memory once they are parsed, all together; {count benchmarks/flowbench/src/data/archive.rs ENTRIES_MAX} entries each", "refused"),
    ("YAML of an OrchestrationBench data set; steps of a scenario", "{megabytes benchmarks/orchestrationbench/src/data/yaml_file.rs BYTES_MAX}; {count benchmarks/orchestrationbench/src/data/read_scenario.rs STEPS_MAX}", "refused"),
    ("field of an Auto-SLURP data set", "{size benchmarks/autoslurp/src/data.rs FIELD_BYTES_MAX}", "refused"),
    ("data sets that a process keeps", "{size catalog/src/recent.rs BYTES_MAX} by the size of their files, archives unpacked, each as {size catalog/src/recent.rs DATASET_BYTES_MIN} at least; always those that were used last; {count catalog/src/recent.rs SWEEPS_MAX} sweeps", "the oldest is read again"),
    ("loading of a data set", "{time catalog/src/catalog.rs LOAD_MAX}, beside the event loop", "refused, tried again"),
    ("published list of prices, at an address: a connection, all of it", "{time cli/src/commands/prices/published.rs CONNECT_TIMEOUT}, {time cli/src/commands/prices/published.rs TRANSFER_TIMEOUT}; {size llm/src/prices/mod.rs PRICE_FILE_BYTES_MAX}; redirections within its host", "refused"),
    ("file of recorded verdicts; of an encoder; of prices", "{size llm/src/open.rs VERDICTS_BYTES_MAX}; {size encoder/src/files.rs FILE_BYTES_MAX}; {size llm/src/prices/mod.rs PRICE_FILE_BYTES_MAX}", "the endpoint is not served; the process does not start"),
    ("recorded verdicts in memory; a line of them", "{size llm/src/recorded.rs VERDICTS_KEPT_MAX}, and {size worker/src/verdicts.rs ALL_KEPT_MAX} in a worker; {size llm/src/recorded.rs LINE_BYTES_MAX}", "422; the endpoint is not served while there is no room"),
    ("files of verdicts that a worker reads at once; time for one", "{size worker/src/verdicts.rs LOADING_MAX}; {time worker/src/verdicts.rs READ_MAX}", "others wait; tried again"),
    ("what a judge's answer must match: expressions, a length, compiled", "{count llm/src/acceptance.rs EXPRESSIONS_MAX}, {size llm/src/acceptance.rs LENGTH_MAX}, {size llm/src/acceptance.rs COMPILED_MAX}", "refused with the field"),
    ("questions to judges that a session may have", "{count scorer/src/judging.rs QUESTIONS_MAX}", "not measured"),
    ("submissions planned; files and lists fetched; sweeps and schedules looked at; diagnoses", "{word coordinator/src/api/content.rs PLANS_MAX}; {word coordinator/src/api/content.rs DOWNLOADS_MAX}; {word coordinator/src/api/content.rs ANSWERS_MAX}; {word coordinator/src/api/content.rs DIAGNOSES_MAX} at once, of one owner, as of uploads, all but one of them; others wait {time coordinator/src/api/content.rs TURN_MAX}", "429"),
    ("pages made and sent", "{word viewer/src/turns.rs PAGES_MAX} at once, {word viewer/src/turns.rs PAGES_OF_ONE_MAX} of one reader; others wait {time viewer/src/turns.rs TURN_MAX}", "503"),
    ("cells, sessions of a sweep", "{count proto/src/lock.rs CELLS_MAX}, {count coordinator/src/admission.rs SESSIONS_MAX}", "422"),
    ("ids, model names; an object's key, a part of it", "{size proto/src/ids.rs MAX_ID_LENGTH}; {size backends/src/blobs/key.rs KEY_BYTES_MAX}, {size backends/src/blobs/key.rs PART_BYTES_MAX}", "refused"),
    ("connections of a listener", "{count @connections} (bridge: {count bridge/src/server.rs CONNECTIONS_MAX}, or half of the files; simulators: {count simulator/src/server.rs MAX_CONNECTIONS}, tool servers {count simulator/toolservers/src/lib.rs CONNECTIONS_MAX})", "wait"),
    ("those of one address, of IPv6 one network of 64 bits (not at the bridge)", "{count @connections-of-one}; `--connections-per-address` (`REGATTA_CONNECTIONS_PER_ADDRESS`, default {count @connections-option}) of a coordinator behind a proxy", "closed before the handshake"),
    ("requests of a session at the bridge; one to a model, to a tool", "{count bridge/src/open.rs REQUESTS_MAX} at once; {size bridge/src/routes.rs CALL_BYTES_MAX}, {size bridge/src/routes.rs TOOL_BYTES_MAX}", "429; 413"),
    ("answers of a session that are kept for whoever was cut off; calls at once", "{count bridge/src/single_flight.rs KEPT_MAX}; {count bridge/src/single_flight.rs IN_FLIGHT_MAX}", "asked again; 429"),
    ("responses and conversations of a session that its calls can refer to; both", "{count bridge/src/open.rs RESPONSES_MAX} each; {size bridge/src/open.rs RESPONSES_BYTES_MAX}", "the oldest are forgotten"),
    ("starts of an agent for one session, or one turn; connection to one behind a `url`", "{count worker/src/external/mod.rs STARTS_MAX}; {time worker/src/external/post.rs CONNECT_MAX}", "not measured"),
    ("files of a sweep that are listed", "{count backends/src/blobs/mod.rs LISTED_KEYS_MAX}", "refused"),
    ("body of a request to the bridge or a simulator", "{time serving/src/request_body.rs BODY_TIME_MAX}", "408"),
    ("request to a simulator; uploads and batches that it keeps; responses and conversations", "{size simulator/src/routes.rs MAX_BODY_BYTES}, an upload {size simulator/src/batches/mod.rs MAX_UPLOAD_BYTES}; {size simulator/src/batches/store.rs MAX_STORED_BYTES}, {count simulator/src/batches/store.rs MAX_BATCHES}; {count simulator/src/endpoint.rs MAX_RESPONSES} each, {size simulator/src/endpoint.rs MAX_RESPONSE_BYTES}", "413, 400; the oldest are forgotten"),
    ("simulated apps and tools: request, address, sessions, requests kept of one", "{size simulator/toolservers/src/apps/shared.rs BODY_BYTES_MAX} ({size benchmarks/autoslurp/src/servers/mod.rs BODY_BYTES_MAX}), {size benchmarks/autoslurp/src/servers/mod.rs URL_BYTES_MAX}, {count simulator/toolservers/src/apps/sessions.rs SESSIONS_MAX}, {count simulator/toolservers/src/tools/sessions.rs REQUESTS_MAX}", "413, 414; refused until some are deleted"),
    ("head of a request", "{size cli/src/listener.rs HEAD_BYTES_MAX}, {count cli/src/listener.rs HEADERS_MAX} headers, {time @head-time}, also between two requests (bridge: {size bridge/src/server.rs HEAD_BYTES_MAX}, {count bridge/src/server.rs HEADERS_MAX}, {time bridge/src/server.rs IDLE_MAX}; simulators: {time simulator/src/connections.rs HEAD_MAX})", "closed"),
    ("client that takes nothing of an answer", "{time serving/src/write_timeout.rs WRITE_STALL_MAX}, at every listener", "closed"),
    ("lines of a log that strangers cause: failed handshakes, refused tokens of the pages' form", "{count serving/src/rare_line.rs REASONS_MAX} reasons in {time serving/src/rare_line.rs PAUSE}, each once", "counted"),
    ("sending of one file of a sweep, of one page", "{time serving/src/sending.rs SEND_MAX}", "broken off, its turn is free"),
    ("request", "{time cli/src/listener.rs REQUEST_MAX}", "408"),
    ("answer of an endpoint (of Bedrock)", "{size llm/src/transport.rs BODY_MAX} ({size llm/src/bedrock/stream.rs ANSWER_MAX})", "`bad_response`"),
    ("list of models that an endpoint is asked for before a run: answer, bytes", "{time llm/src/probe.rs ANSWER_MAX}, {size llm/src/probe.rs LIST_BYTES_MAX}", "a warning"),
    ("wait that an endpoint may ask for", "{hours llm/src/wire/hints.rs WAIT_MAX}", "taken as that"),
    ("text of an endpoint's error that is kept", "{count llm/src/secret.rs DETAIL_MAX} characters of the first {size llm/src/secret.rs READ_MAX}", "cut"),
    ("batch at a provider: requests sent; a line, all results, an answer about it", "{megabytes llm/src/batch/openai.rs FILE_BYTES_MAX} (Anthropic: {megabytes llm/src/batch/anthropic.rs REQUEST_BYTES_MAX}); {size llm/src/batch/sending.rs LINE_BYTES_MAX}, {size llm/src/batch/sending.rs RESULTS_BYTES_MAX}, {size llm/src/batch/sending.rs ANSWER_BYTES_MAX}", "cut in two; `bad_response`"),
    ("batches that a worker follows; prompts that it gathers for one", "{count worker/src/batch/mod.rs FOLLOWED_MAX}; {size worker/src/batch/gathering.rs PROMPT_BYTES_MAX}", "wait in the queue; handed in"),
    ("bytes that a coordinator, a worker or a scorer holds at once: answers and requests with what is parsed of them, results of batches, output of agents, what sessions keep until they are published, reports until they are recorded", "a quarter of the memory of container or machine, within {mebibytes memory/src/machine.rs LEAST} and {size memory/src/machine.rs MOST}; `--memory-budget MIB` (`REGATTA_MEMORY_BUDGET`, {count @memory-budget-least} to {count @memory-budget-most})", "nothing is read and no report is decoded until some are free; the session that keeps most is handed over"),
    ("the same of one session or request, parsed", "a quarter of that: an answer of {fixed 16 MiB} of text, or of {fixed 1 MiB} of numbers, in the largest; {count memory/src/json.rs DEPTH_MAX} levels", "`bad_response`, 413"),
    ("one event of a stream, parsed", "{size llm/src/wire/reading.rs EVENT_PARSED_MAX}", "`bad_response`"),
    ("message of the broker; decoded", "{size @message}; {size proto/src/wire.rs DECODED_BYTES_MAX}", "its session is not measured; a dead letter"),
    ("report that is larger than all that may be held", "{size proto/src/wire.rs DECODED_BYTES_MAX} of JSON", "decoded alone"),
    ("messages for which the prefixes of a transcript stand: texts, and places in memory", "{size proto/src/wire.rs DECODED_BYTES_MAX}", "refused as no transcript; never written"),
    ("transcripts that are published, and recorded, together", "{size worker/src/publisher.rs BATCH_BYTES}, {size scorer/src/scorer.rs BATCH_BYTES}; one at least", "next time"),
    ("stored object; line of a segment of transcripts", "{size backends/src/blobs/mod.rs OBJECT_BYTES_MAX}; {size catalog/src/segment/reading.rs LINE_BYTES_MAX}", "refused"),
    ("connection to PostgreSQL, to the broker, to S3", "{time backends/src/ledger/postgres/pool.rs CONNECT_TIMEOUT}, {time backends/src/queue/rabbitmq/link.rs DIAL_TIMEOUT}, {time backends/src/blobs/s3.rs CONNECT_TIMEOUT}", "tried again"),
    ("wait for a connection of the pool; for an answer of the broker; for one of S3", "{time backends/src/ledger/postgres/pool.rs WAIT_TIMEOUT}; {time backends/src/queue/rabbitmq/link.rs ANSWER_TIMEOUT}; {time backends/src/blobs/s3.rs TRY_TIMEOUT}", "tried again"),
    ("requests whose failures are counted at once", "{count backends/src/permits/mod.rs FAILURES_MAX}", "the oldest are forgotten"),
    ("agent: start, deadline", "{time proto/src/spec_file/agents.rs DEADLINE_MAX_S} each", "not measured, or scored as it is"),
    ("agent: sessions of one process; processes that wait for their next session, and how long; a line by which one says that it is done", "{count proto/src/spec_file/agents.rs SESSIONS_MAX} (default one); {count worker/src/external/kept.rs WAITING_MAX}, {time worker/src/external/kept.rs IDLE_MAX}; {size worker/src/external/kept.rs DONE_BYTES_MAX}", "refused with the field; ended; it is output"),
    ("agent: output", "{size proto/src/spec_file/agents.rs OUTPUT_MAX} (default {size @output-default})", "stopped, scored"),
    ("agent: calls", "{count proto/src/spec_file/agents.rs CALLS_MAX} (default {count @calls-default})", "refused"),
    ("agent: requests to tools that are kept; an address, a body, a method of one; all that it is told and tells", "{count worker/src/external/desk.rs EXCHANGES_MAX}; {size worker/src/external/desk.rs URL_MAX}, {size worker/src/external/desk.rs BODY_KEPT}, {size worker/src/external/desk.rs METHOD_MAX}; {size worker/src/external/budget.rs BYTES_MAX}", "refused; cut; stopped"),
    ("agent: processor time, memory, file, open files", "{time @agent-cpu}, {mib @agent-memory}, {mib @agent-file}, {count @agent-files} a process; `limits` of the policy", "signal, or an error to it"),
    ("agent, program of a benchmark: processes and threads of its user", "`limits.processes`; by default {count processes/src/limits.rs PROCESSES_MAX} more than the user has when it starts (root has no such limit outside of a control group)", "an error to it"),
    ("agent with a control group or in a container: memory, processes, processors together", "`limits`: {mib @agent-memory}, {count worker/src/external/container.rs PROCESSES_MAX}, all", "ended, not measured; an error to it; slower"),
    ("container engine: looks, end and removal of a container", "{time worker/src/external/container.rs ENGINE_MAX} each", "the next worker of the machine removes it"),
    ("agent in a pod: what it is told", "{count worker/src/external/pods/manifest.rs SECRET_BYTES_MAX} bytes, the task among them", "not measured"),
    ("agent in a pod: life, whatever becomes of its worker", "the longest session (`--hand-over-after-s`) and {time worker/src/external/pods.rs LATE}", "ended by Kubernetes"),
    ("API of Kubernetes: connection, answer, bytes of one, tries", "{time worker/src/external/pods/api.rs CONNECT_MAX}, {time worker/src/external/pods/api.rs ANSWER_MAX}, {size worker/src/external/pods/api.rs ANSWER_BYTES_MAX} ({size worker/src/external/pods/api.rs STATUS_BYTES_MAX} of an error), {count worker/src/external/pods/api.rs TRIES_MAX}", "not measured, or asked again"),
    ("container: files in `/tmp`", "`limits.file_mb`, {mib @agent-file}, in its memory", "an error to it"),
    ("viewer: pages kept up to date at once; a stream", "{count viewer/src/live.rs STREAMS_MAX}, {count viewer/src/live.rs STREAMS_OF_ONE_MAX} of one reader; {time viewer/src/live.rs STREAM_MAX}", "503, and the page stays as it was loaded; asked for again"),
    ("viewer: text shown whole; items of a page; parts of a conversation", "{count viewer/src/page.rs TEXT_MAX} characters; {count viewer/src/pages/items/wanted.rs ITEMS}; {count viewer/src/pages/session.rs PARTS_MAX}", "cut, and said to be; paged; the transcript has them"),
    ("viewer: form that steers a sweep", "{size viewer/src/pages/steering.rs FORM_BYTES_MAX}, {time viewer/src/forms.rs FORM_TIME_MAX}", "413, 408"),
    ("viewer: form of an annotation; a note, a person's name", "{size viewer/src/pages/annotate.rs FORM_BYTES_MAX}, {time viewer/src/forms.rs FORM_TIME_MAX}; {count viewer/src/annotations/text.rs NOTE_CHARS_MAX} characters, {count viewer/src/annotations/text.rs NAME_CHARS_MAX}", "413, 408; 400"),
    ("viewer: a run's file of annotations; sessions of a sample, and those that it is drawn from or that are filtered", "{size viewer/src/annotations/file.rs FILE_BYTES_MAX}; {count viewer/src/pages/items/wanted.rs SAMPLE_MAX}, {count viewer/src/selection.rs SESSIONS_FOUND_MAX}", "not saved, said; 400"),
    ("viewer: annotations of a deployment's sweep; read at once; kept in memory, of all sweeps", "{count viewer/src/annotations/stored.rs STORED_MAX}; {count viewer/src/annotations/stored.rs READ_AT_ONCE}; {size viewer/src/annotations/stored.rs KEPT_BYTES_MAX}", "413; the others after them; the oldest are read again"),
    ("viewer: sessions that one search in what was said looks into; time for it", "{count viewer/src/searching.rs SESSIONS_MAX}; {time viewer/src/searching.rs TIME_MAX}, of one for the next session {time viewer/src/searching.rs STEP_TIME_MAX}", "a link goes on from there"),
    ("viewer: text to search for; items that are ordered", "{size viewer/src/pages/items/wanted.rs TEXT_BYTES_MAX}; {count backends/src/ledger/views.rs ITEMS_FOUND_MAX}", "400; the first ones"),
    ("counts and amounts (nano-dollars) of a `summary.json`, together", "{count proto/src/untrusted.rs SUM_MAX}", "refused with the field"),
    ("viewer: texts that are compared by words, by lines; time for it", "{size viewer/src/differences.rs WORDS_MAX}, {size viewer/src/differences.rs BYTES_MAX}; {time viewer/src/differences.rs TIME_MAX}", "shown without marks; the rest counts as different"),
    ("viewer: pages of drift that are worked out at once; nights of one", "{fixed 1}; {count cli/src/roles/drift_pages.rs NIGHTS}", "503; the last ones"),
    ("viewer: directories of runs; runs of a page, read at once, schedules", "{count viewer/src/source.rs DIRECTORIES_MAX}; {count viewer/src/source.rs RUNS_MAX}, {count viewer/src/progress.rs READ_AT_ONCE}, {count viewer/src/pages/schedules.rs SCHEDULES_MAX}", "said; a link to older ones, the others after them, said"),
    ("log of another harness: files; a sample, all samples, decompressed", "{count @log-members}; {size @log-sample}, {size @log-all}", "refused"),
    ("task of another harness that is imported; scorers of one of Inspect; a file of a schedule", "{size cli/src/commands/import.rs TASK_BYTES_MAX}; {count benchmarks/declared/src/import/inspect/scorers.rs SCORERS_MAX}; {size cli/src/commands/schedule/written.rs FILE_BYTES_MAX}", "refused"),
    ("segment of transcripts that is exported: its text", "{size export/src/transcripts.rs SEGMENT_BYTES_MAX}", "refused"),
    ("site: files; bytes of one", "{count viewer/src/site.rs PAGES_MAX}; {size viewer/src/site.rs PAGE_BYTES_MAX}", "refused"),
    ("plan: trials and clusters that are tried", "{count report/src/planning.rs TRIALS_MAX}, {count report/src/planning.rs CLUSTERS_MAX}", "said that none is enough"),
    ("deliveries of a job without a call of its own; redeliveries before it goes on as a new message", "{count worker/src/route.rs FRUITLESS_MAX}; {count worker/src/route.rs REDELIVERIES_MAX}", "not measured"),
    ("failures of a request while others are answered", "{count @quarantine-default} (`quarantine_after`), counted for each sweep and each setting of its endpoint by itself", "not sent again, not measured"),
    ("spans of traces: waiting to be sent, in a request; time to send what waits when a process leaves", "{count traces/src/sending.rs QUEUED_MAX}, {count traces/src/sending.rs BATCH_MAX}; {time traces/src/sending.rs FLUSH_WAIT}", "dropped, and counted"),
    ("waiting money, permits", "the sweep's budget, the endpoint's limits", "not measured"),
]

# Constants whose names are those of limits, by what they are instead: a constant, a file or a folder.
OTHERS = {
    "part of what a benchmark measures, as its paper or its official code has it": [
        "benchmarks/appbench/src/official", "benchmarks/appbench/src/setting.rs", "benchmarks/appbench/src/stepwise.rs",
        "benchmarks/autoslurp/src/policies", "benchmarks/flowbench/src/protocol", "benchmarks/flowbench/src/judge.rs",
        "benchmarks/flowbench/src/session_level", "benchmarks/orchestrationbench/src/end_to_end", "benchmarks/worfbench/src/official.rs",
        "benchmarks/orchestrationbench/src/decision", "benchmarks/declared/src/scoring/judge.rs", "benchmarks/declared/src/suite.rs REPLIES_MAX",
    ],
    "limits of the official interpreter and its libraries, which are reproduced": [
        "benchmarks/pycompat", "benchmarks/worfbench/src/parse_official.rs", "benchmarks/worfbench/src/parse_paper.rs",
        "benchmarks/appbench/src/data/repr.rs", "benchmarks/autoslurp/src/servers/respond.rs",
    ],
    "work of scoring, bounded so that no answer costs minutes; tested beside the code": [
        "benchmarks/orchestrationbench/src/plan/work.rs", "benchmarks/declared/src/answer/repair.rs TRIES_MAX",
        "benchmarks/declared/src/coded/suite.rs RECOGNISED_MAX",
    ],
    "what simulated services answer with": [
        "benchmarks/autoslurp/src/servers/services", "benchmarks/autoslurp/src/simulate", "benchmarks/autoslurp/src/servers/served.rs",
        "simulator/src", "simulator/toolservers/src",
    ],
    "how much is shown or told": [
        "benchmarks/appbench/src/case", "benchmarks/appbench/src/drawing.rs", "benchmarks/flowbench/src/flowchart", "benchmarks/coded/src/process.rs",
        "report/src/report", "report/src/decision.rs", "report/src/decision", "report/src/decided", "report/src/tabulation/agent_ends.rs",
        "scorer/src/finish/mod.rs", "report/src/failures.rs", "report/src/agents.rs", "report/src/standings", "viewer/src/drawing.rs",
        "viewer/src/pages/endpoints.rs", "viewer/src/pages/verdicts.rs", "viewer/src/pages/money.rs",
        "viewer/src/pages/run.rs", "viewer/src/pages/session.rs OPEN_BYTES_MAX", "cli/src/commands/check_benchmark.rs", "cli/src/commands/first_prompt.rs",
        "cli/src/notice/program.rs SHOWN_BYTES_MAX", "llm/src/prices/import.rs", "llm/src/permits/signals.rs REASON_MAX",
        "backends/src/permits/pool/steering.rs REASON_MAX", "backends/src/ledger/call_sums.rs", "export/src/inspect", "serving/src/fields.rs",
        "worker/src/external/pods/labels.rs", "worker/src/external/failures.rs", "cli/src/hostile.rs", "llm/src/secret.rs NAME_MAX",
        "coordinator/src/api/auditing.rs PROBLEM_BYTES_MAX", "coordinator/src/problems.rs",
    ],
    "pauses, patience and retries between the parts of Regatta": [
        "backends/src/permits/pool", "coordinator/src/rounds.rs", "coordinator/src/schedules/notices.rs PAUSE_MAX", "scorer/src/aside.rs",
        "scorer/src/scorer.rs RETRY_MAX", "llm/src/breaker.rs", "llm/src/money", "llm/src/permits", "llm/src/standstill.rs", "worker/src/checkpoints.rs",
        "worker/src/external/pods.rs", "worker/src/external/pods/api.rs WAIT_MAX", "worker/src/external/pods/api.rs FIRST_WAIT",
        "worker/src/route.rs LEAVING_MAX", "worker/src/worker.rs", "cli/src/roles", "cli/src/commands", "bridge/src/calls.rs",
        "backends/src/ledger/sqlite/migrate.rs", "backends/src/ledger/storage.rs REMOVAL_MAX", "backends/src/permits/account.rs", "processes/src", "backends/src/queue/rabbitmq/topology.rs",
        "cli/src/roles/readiness.rs",
    ],
    "how many things are done at once, or at a time": [
        "catalog/src/checkpoints.rs", "coordinator/src/schedules/keeping.rs", "coordinator/src/dispatch.rs", "coordinator/src/retention.rs",
        "coordinator/src/unused/references.rs READ_AT_ONCE", "coordinator/src/voided.rs", "coordinator/src/api/sources.rs AT_ONCE", "coordinator/src/api/pages.rs READ_AT_ONCE", "scorer/src/verdicts",
        "llm/src/judgement.rs", "llm/src/encoding.rs", "llm/src/judge.rs", "llm/src/batch/keeping.rs", "llm/src/batch/search.rs",
        "cli/src/fetched", "cli/src/commands/rescore.rs", "backends/src/queue/rabbitmq/consumer.rs", "worker/src/batch/mod.rs PREFETCH_MAX",
        "backends/src/ledger/postgres/partitions.rs OWN_AT_ONCE", "benchmarks/coded/src/pipes.rs", "export/src/tables", "export/src/transcripts.rs KEPT_BYTES_MAX",
    ],
    "sizes of caches and sketches": [
        "backends/src/ledger/sketch.rs", "backends/src/permits/kept.rs", "backends/src/permits/kept_pools.rs", "coordinator/src/forecast.rs",
        "coordinator/src/unused/documents.rs", "llm/src/similarity.rs", "llm/src/transport.rs BODY_ROOM_MAX", "viewer/src/progress.rs RUNS_MAX",
    ],
    "parts of estimates, of statistics and of a wire format": [
        "coordinator/src/estimate.rs", "coordinator/src/estimate", "llm/src/money.rs", "llm/src/wire/anthropic", "llm/src/bedrock/conversation.rs",
        "llm/src/wire/openai/usage.rs", "encoder/src/mpnet.rs", "encoder/src/sentence.rs", "deciding/src/sequence.rs", "report/src/tabulation/jackknife.rs",
        "proto/src/spec_file/decide.rs", "proto/src/level.rs", "proto/src/endpoint.rs", "proto/src/spec_file/endpoint.rs LENGTH_MAX", "llm/src/batch/mod.rs ID_LENGTH_MAX",
        "backends/src/queue/name.rs", "backends/src/ledger/storage.rs GIB_MAX", "cli/src/commands/rounds_outlook.rs",
    ],
    "the same limit where another part needs it": ["backends/src/ledger/audit.rs", "benchmarks/declared/src/import/inspect/log.rs EPOCHS_MAX"],
}

# A constant whose name has one of these words limits something.
LIMIT = re.compile(r"(^|_)(MAX|TIMEOUT|WAIT|AT_ONCE)(_|$)")
CONSTANT = re.compile(r"^[ \t]*(?:pub(?:\([a-z]+\))? )?const ([A-Z0-9_]+): ([A-Za-z0-9_]+) = ([^;]+);", re.M)
WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
UNITS = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
SCALES = {"nanos": 1e-9, "micros": 1e-6, "millis": 1e-3, "secs": 1, "mins": 60, "hours": 3600}


def production(path):
    """The code of a file without its tests."""
    return re.split(r"^#\[cfg\(test\)\]\s*\nmod tests \{", (ROOT / path).read_text(), flags=re.M)[0]


def constants(path):
    return {name: (type_, value) for name, type_, value in CONSTANT.findall(production(path))}


def sources():
    """Files of production code."""
    for path in sorted(ROOT.glob("**/src/**/*.rs")):
        path = path.relative_to(ROOT)
        apart = {"target", "tests", "fuzz", "benches", "examples", "testing"} & set(path.parts)
        if not apart and path.name != "tests.rs":
            yield path


def defined(path, name):
    """Where a constant that is named in `path` is defined, with its value: there, or in the one other file that defines it."""
    if name in constants(path):
        return path, constants(path)[name][1]
    found = [(other, constants(other)[name][1]) for other in sources() if name in constants(other)]
    if len(found) != 1:
        raise SystemExit(f"{path}: {name} is defined in {len(found)} files")
    return found[0]


def evaluate(path, expression):
    """The number that an expression of constants is; of durations, their seconds."""
    text = " ".join(expression.split())
    text = re.sub(r"NonZero\w*::new\((.*)\)\.unwrap\(\)", r"(\1)", text)
    text = re.sub(r"(?:Signed)?Duration::from_(\w+)\(", lambda found: f"{SCALES[found[1]]} * (", text)
    text = re.sub(r"\b[A-Z][A-Z0-9_]+\b", lambda found: str(evaluate(*defined(path, found[0]))), text)
    text = re.sub(r"(?<=\d)_(?=\d)|(?<=\d)(?:u|i)(?:8|16|32|64|size)\b", "", text)
    if not re.fullmatch(r"[\d.e+\-*/<() ]+", text):
        raise SystemExit(f"{path}: {expression} is not understood; write it as one number, or name it in PLACES")
    return eval(text)  # noqa: S307, digits and operators alone


def grouped(number):
    if number != int(number):
        return f"{number:g}"
    return f"{int(number):,}"


def size(number):
    for unit, name in UNITS:
        if number >= unit and number % unit == 0:
            return f"{grouped(number // unit)} {name}"
    return f"{grouped(number)} bytes"


FORMATS = {
    "size": size,
    "bytes": lambda number: f"{grouped(number)} bytes",
    "mib": lambda number: size(number << 20),
    "mebibytes": lambda number: grouped(number >> 20),
    "megabytes": lambda number: f"{grouped(number // 1_000_000)} MB",
    "count": grouped,
    "word": lambda number: WORDS[number],
    "time": lambda number: f"{grouped(number)} s",
    "hours": lambda number: f"{grouped(number / 3600)} hours",
    "days": lambda number: days(number),
}


def days(number):
    """Days, of seconds or of milliseconds: no limit of milliseconds is below a day of seconds."""
    found = number / 86_400 if number < 86_400_000 else number / 86_400_000
    return f"{grouped(found)} day" + ("" if found == 1 else "s")


class Table:
    def __init__(self):
        self.used = set()

    def figure(self, found):
        form, *of = found[1].split(" ")
        if form == "fixed":
            return " ".join(of)
        if len(of) == 1 and of[0].startswith("@"):
            path, pattern = PLACES[of[0][1:]]
            place = re.findall(pattern, production(path))
            if len(place) != 1:
                raise SystemExit(f"{path}: {of[0]} is found {len(place)} times by {pattern}")
            return FORMATS[form](evaluate(path, place[0]))
        path, name = of
        known = constants(path)
        if name not in known:
            raise SystemExit(f"{path}: there is no {name}, of which SECURITY.md has the limit")
        self.used.add((path, name))
        return FORMATS[form](evaluate(path, known[name][1]))

    def row(self, what, limit, then):
        bare = re.sub(r"\{[^}]*\}|`[^`]*`", "", limit)
        if re.search(r"\d", bare):
            raise SystemExit(f"{what}: a figure that no code has: {bare}")
        return f"| {what} | {re.sub(r'{([^}]*)}', self.figure, limit)} | {then} |"


def uncovered(used):
    """Limits of the code that are neither in the table nor among OTHERS, and OTHERS that name nothing."""
    others = {of: False for group in OTHERS.values() for of in group}
    missing = []
    for path in sources():
        for name in constants(path):
            if not LIMIT.search(name) or (str(path), name) in used:
                continue
            names = [f"{path} {name}", *(str(part) for part in [path, *path.parents])]
            found = [of for of in names if of in others]
            if not found:
                missing.append(f"{path} {name}")
            others.update((of, True) for of in found)
    return missing, [of for of, is_used in others.items() if not is_used]


def main():
    table = Table()
    rows = ["| what | limit | then |", "|---|---|---|", *(table.row(*row) for row in ROWS)]
    pages = [argument for argument in sys.argv[1:] if argument != "--check"]
    page = Path(pages[0]) if pages else PAGE
    text = page.read_text()
    before, rest = text.split(BEGIN)
    written = before + BEGIN + "\n\n" + "\n".join(rows) + "\n\n" + END + rest.split(END)[1]
    missing, idle = uncovered(table.used)
    if missing:
        raise SystemExit("limits that SECURITY.md does not have; give each a row in docs/tools/limits.py, or a place among its OTHERS:\n" + "\n".join(missing))
    if idle:
        raise SystemExit("OTHERS of docs/tools/limits.py that name no limit: " + ", ".join(idle))
    if "--check" not in sys.argv[1:]:
        page.write_text(written)
    elif written != text:
        raise SystemExit("the table of limits in SECURITY.md is out of date; run docs/tools/limits.py")


main()
