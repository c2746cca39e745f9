"""What the workbench says of keys that found nothing to do, and of what they did, in words."""

from __future__ import annotations

from collections.abc import Mapping

from triptych_tui.i18n import N_

WORKBENCH: Mapping[str, str] = {
    "busy": N_("Something is still running; Esc cancels it."),
    "picture.missing": N_("{name} is not attached: there is no such file. Enter sends the text as it stands."),
    "picture.special": N_("{name} is not attached: it is no regular file. Enter sends the text as it stands."),
    "picture.unreadable": N_("{name} is not attached, it cannot be read: {error}. Enter sends the text as it stands."),
    "picture.unknown_kind": N_(
        "{name} is not attached: it is no PNG, JPEG, GIF or WebP picture. Enter sends the text as it stands."
    ),
    "picture.too_large": N_(
        "{name} is not attached: it is larger than {megabytes} MB. Enter sends the text as it stands."
    ),
    "picture.broken": N_(
        "{name} is not attached: its header is broken and tells no size. Enter sends the text as it stands."
    ),
    "quit.how": N_("ctrl+q leaves; all is saved. Esc cancels what is running."),
    "theme.no_color": N_("NO_COLOR is set, so there are no colours; start with --theme dark to have them."),
    "search.nothing_sought": N_("Nothing is sought yet; `/` opens the search."),
    "search.no_hits": N_("“{sought}” is nowhere in this pane, nor in what the layers took out of it."),
    "search.bad_expression": N_("“{expression}” is no regular expression: {detail}. Mend it, or leave `re:` away."),
    "search.too_slow": N_("“{expression}” takes too long to be sought. Nothing was changed; make it simpler."),
    "filter.unknown_word": N_("The filter has the word “{word}”, which is not known here; known are {known}."),
    "filter.no_rows": N_("No entry is such that “{filter}” would show it, so all rows stay; write it otherwise."),
    "original.same": N_("No layer changed entry {index}: it is its own original."),
    "original.unknown": N_("What entry {index} was is not known any more: a session file holds only what is sent."),
    "entry.none_selected": N_("No entry is selected; go to one with the arrow keys."),
    "copy.done": N_("Entry {index} is copied as JSON; should your terminal not take it, it stands in {path} too."),
    "copy.file_only": N_("Entry {index} is too long for a terminal's clipboard; its JSON stands in {path}."),
    "copy.clipboard_only": N_("Entry {index} was given to the clipboard; {path} cannot be written: {error}."),
    "copy.failed": N_(
        "Entry {index} is not copied: a terminal's clipboard is too small, and {path} cannot be written: {error}. "
        "Mend that, then copy it again."
    ),
    "input_method.on": N_(
        "A Chinese input method is on and takes the keys of the panes; switch it off, or press `i` first to ask."
    ),
    "question.waits": N_("The question that failed is in the prompt; it can be asked again."),
    "policy.nothing_edited": N_("These are the policy's own numbers; change one first."),
    "pin.looking_back": N_("You are looking back; Esc returns to the newest list, where entries can be pinned."),
    "pin.summary_waits": N_("This summary is for the list as it is; take it or leave it first, then pin."),
    "layer.not_in_policy": N_("This policy has no such layer in its turns; by hand it can run all the same."),
    "revert.nothing": N_("No layer made this entry, so there is nothing to take back; go to one with a mark."),
    "revert.built_upon": N_("Later steps have changed what this one made. Nothing was changed; take those back first."),
    "revert.done": N_("one earlier step is taken back; what came after it stays"),
    "pin.done": N_("entries {first}–{last} are pinned"),
    "pin.undone": N_("entries {first}–{last} are pinned no more"),
    "pin.one_done": N_("entry {first} is pinned"),
    "pin.one_undone": N_("entry {first} is pinned no more"),
    "branch.look_back_first": N_("You are at the newest step; go back with F7 first, and branch from there."),
    "branch.begun": N_("The next question goes on from here. What came after it is kept: `B` lists all branches."),
    "branch.would_be_refused": N_("A call has no result here yet, so nothing can go on from it; go one step further."),
    "history.beginning": N_("the list as it was in the beginning"),
    "history.oldest": N_("This is the beginning: there is no earlier step."),
    "history.newest": N_("This is the newest step."),
    "history.no_compaction_before": N_("No layer changed anything before this."),
    "history.no_compaction_after": N_("No layer changed anything after this."),
    "history.compaction_left": N_(
        "The next compaction is on the way that was left; ctrl+r goes there step by step, `B` lists all branches."
    ),
    "undo.forgotten": N_("What was before this was forgotten as you wished, so nothing can be undone here."),
    "forget.done": N_("The list stays as it is; how it came about is forgotten for good."),
    "forget.sure_aside": N_(
        "This forgets all originals and all undo for good; the list stays as it is. "
        "What was moved aside may hold them too: {files}."
    ),
    "forget.all": N_("The list stays as it is; how it came about is forgotten for good, {files} deleted."),
    "forget.but": N_("The list stays as it is; how it came about is forgotten here. It may still stand in {files}."),
    "forget.not_deleted": N_("{path} cannot be deleted: {error}. All else is forgotten; delete that file yourself."),
    "forget.not_saved": N_("The list could not be saved, so nothing was forgotten; make room and try again."),
    "forget.sure": N_("This forgets all originals and all undo for good; the list stays as it is."),
    "undo.nothing": N_("There is nothing to undo."),
    "redo.nothing": N_("There is nothing to redo."),
}
