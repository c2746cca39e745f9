"""What can be wrong with settings, parameters, policies and workspaces, in words."""

from __future__ import annotations

from collections.abc import Mapping

from triptych_tui.i18n import N_

SETTINGS: Mapping[str, str] = {
    "parameter.too_small": N_("{name} is {value}, but must be at least {least}. Nothing was changed."),
    "parameter.too_large": N_("{name} is too large: it must be at most {most:,}. Nothing was changed."),
    "parameter.not_a_number": N_("{name} is “{value}”, but must be a number. Nothing was changed."),
    "parameter.not_a_whole_number": N_("{name} is “{value}”, but must be a whole number. Nothing was changed."),
    "parameter.not_a_share": N_("{name} is {value}, but must be between 0 and 1. Nothing was changed."),
    "parameter.not_one_of": N_("{name} is “{value}”, but must be one of {known}. Nothing was changed."),
    "parameter.two_triggers": N_("{names} exclude each other: a policy has one trigger. Leave one of them."),
    "settings.too_small": N_("{source} is {value}, but must be at least {least}."),
    "settings.lesson_keeps_one": N_(
        "{source} is 0, but the lesson's layers keep at least 1; give 1 or more, or take robust layers."
    ),
    "settings.too_large": N_("{source} is too large: it must be at most {most:,}."),
    "settings.not_a_number": N_("{source} is “{value}”, but must be a whole number."),
    "settings.not_yes_or_no": N_("{source} is “{value}”, but must be true or false."),
    "settings.not_text": N_("{source} is {value}, but must be text in quotation marks."),
    "settings.not_one_of": N_("{source} is “{value}”, but must be one of {known}."),
    "settings.not_a_table": N_('{source} is {value}, but must be a table: [keys], then lines such as undo = "u".'),
    "settings.unknown_binding": N_("{path} gives a key to “{id}”, which is not known; `?` in the workbench lists all."),
    "settings.unknown_named_key": N_("{path} gives “{id}” the key “{key}”, which is none; write it like ctrl+e."),
    "settings.key_is_typed": N_("{path} gives “{id}” the key “{key}”, which is for typing; give it one like ctrl+e."),
    "settings.key_clash": N_("{path} gives the key “{key}” to “{id}”, but “{other}” has it; give one of them another."),
    "settings.not_a_url": N_("{source} is “{value}”, which is no base URL; give one like http://localhost:11434/v1."),
    "settings.unknown_key": N_("{path} has a key “{key}” that is not known; known are {known}."),
    "settings.not_toml": N_("The config file {path} is not TOML: {detail}. Mend it or move it away."),
    "settings.unreadable": N_("The config file {path} cannot be read: {detail}. Mend that or move it away."),
    "policy.not_remembered": N_(
        "The policy that this session was left with cannot be read, so “{policy}” is in force; `P` takes another. {why}"
    ),
    "policy.name_taken": N_("You have a policy in {path} already; nothing was changed."),
    "policy.not_saved": N_("{path} cannot be written: {error}. Nothing was changed; make room or mend that."),
    "policy.saved": N_("The policy is your own now, in {path}, and this session goes by it."),
    "policy.unknown": N_("There is no policy “{policy}”; known are {known}."),
    "policy.not_toml": N_("The policy “{policy}” is not TOML: {detail}. Mend it, or take another."),
    "policy.unknown_key": N_("The policy “{policy}” has a key “{key}” that is not known; take it out."),
    "policy.unknown_key_near": N_(
        "The policy “{policy}” has a key “{key}” that is not known; write “{near}” if that is meant."
    ),
    "policy.wrong_type": N_("The policy “{policy}” has {value} at “{key}”: that is {given}, but must be {expected}."),
    "policy.kind_bool": N_("true or false"),
    "policy.kind_int": N_("a whole number"),
    "policy.kind_float": N_("a number"),
    "policy.kind_text": N_("text in quotation marks"),
    "policy.kind_texts": N_("a list of texts in quotation marks"),
    "policy.kind_list": N_("a list"),
    "policy.kind_table": N_("a table"),
    "policy.kind_date": N_("a date or time"),
    "policy.missing_key": N_("The policy “{policy}” lacks the key “{key}”; add it."),
    "policy.unusable": N_("The policy “{policy}” cannot be used. {why}"),
    "policy.unknown_stage": N_(
        "The policy “{policy}” names a stage “{stage}” at “{key}” that is not known; known are {known}."
    ),
    "policy.misplaced_stage": N_(
        "The policy “{policy}” has the stage “{stage}” where it would never run; move it, or take it out."
    ),
    "policy.stages": N_("The policy “{policy}” must have these stages in this order: {expected}."),
    "policy.estimator": N_(
        "The policy “{policy}” names an estimator “{estimator}” that is not known; known are {known}."
    ),
    "policy.unreadable": N_("The policy “{policy}” cannot be read: {detail}. Mend that, or take another."),
    "policy.too_large": N_(
        "The policy “{policy}” is not read: it has more than {most} KB; make it shorter, or take another."
    ),
    "policy.preset_name": N_(
        "The policy “{policy}” has the name of a preset, which one of your own cannot have; give it another."
    ),
    "policy.bad_name": N_("“{policy}” cannot be the name of a policy; use letters, digits and hyphens."),
    "workspace.missing": N_("There is no folder {path} to be the workspace; give another with --workspace."),
    "workspace.not_a_folder": N_("{path} is no folder, so it cannot be the workspace; give another with --workspace."),
    "workspace.closed": N_(
        "{path} holds sessions, settings or the system's own files, which tools never see; "
        "give another folder with --workspace."
    ),
    "workspace.unreadable": N_("The workspace {path} cannot be listed: {error}. Give another with --workspace."),
}
