package keymap

// Action names one thing that a key can do. Names are what a person writes in the
// configuration file, so they never change their meaning.
type Action string

// The actions. What each does is its Long text in the table below.
const (
	Down         Action = "down"
	Up           Action = "up"
	Top          Action = "top"
	Bottom       Action = "bottom"
	HalfPageDown Action = "half-page-down"
	HalfPageUp   Action = "half-page-up"
	PageDown     Action = "page-down"
	PageUp       Action = "page-up"
	Open         Action = "open"
	Accept       Action = "accept"
	Back         Action = "back"
	NextPane     Action = "next-pane"
	PrevPane     Action = "previous-pane"
	FocusLeft    Action = "focus-left"
	FocusRight   Action = "focus-right"

	Archive       Action = "archive"
	Trash         Action = "trash"
	Restore       Action = "restore"
	DeleteForever Action = "delete-forever"
	Snooze        Action = "snooze"
	Unsnooze      Action = "unsnooze"
	Unread        Action = "unread"
	MarkRead      Action = "mark-read"
	MarkUnread    Action = "mark-unread"
	Star          Action = "star"
	Label         Action = "label"
	Mute          Action = "mute"
	Spam          Action = "spam"

	Select       Action = "select"
	SelectRange  Action = "select-range"
	SelectAll    Action = "select-all"
	SelectNone   Action = "select-none"
	SelectUnread Action = "select-unread"

	Compose       Action = "compose"
	Reply         Action = "reply"
	ReplyAll      Action = "reply-all"
	ReplyPlain    Action = "reply-plain"
	ReplyAllPlain Action = "reply-all-plain"
	Forward       Action = "forward"

	NextMessage     Action = "next-message"
	PrevMessage     Action = "previous-message"
	NextThread      Action = "next-thread"
	PrevThread      Action = "previous-thread"
	ToggleMessage   Action = "toggle-message"
	ExpandAll       Action = "expand-all"
	ToggleQuotes    Action = "toggle-quotes"
	ToggleHeaders   Action = "toggle-headers"
	OpenLink        Action = "open-link"
	Copy            Action = "copy"
	SaveAttachment  Action = "save-attachment"
	ViewAttachments Action = "view-attachments"
	FindInside      Action = "find-inside"
	ViewHTML        Action = "view-html"
	SwitchPart      Action = "switch-part"
	Pipe            Action = "pipe"
	InviteAccept    Action = "invite-accept"
	InviteMaybe     Action = "invite-maybe"
	InviteDecline   Action = "invite-decline"

	Send             Action = "send"
	SendLater        Action = "send-later"
	Save             Action = "save"
	Editor           Action = "editor"
	Attach           Action = "attach"
	RemoveAttachment Action = "remove-attachment"
	Discard          Action = "discard"
	NextField        Action = "next-field"
	PrevField        Action = "previous-field"
	Copies           Action = "copies"
	EditUndo         Action = "edit-undo"
	EditRedo         Action = "edit-redo"

	SendNow   Action = "send-now"
	Hold      Action = "hold"
	Drop      Action = "drop"
	Edit      Action = "edit"
	EditAsNew Action = "edit-as-new"

	SnoozePick  Action = "snooze-pick"
	ToggleLabel Action = "toggle-label"
	RenameLabel Action = "rename-label"
	ColorLabel  Action = "color-label"
	DeleteLabel Action = "delete-label"
	Complete    Action = "complete"

	Cancel    Action = "cancel"
	CancelAll Action = "cancel-all"

	GoInbox   Action = "go-inbox"
	GoStarred Action = "go-starred"
	GoSnoozed Action = "go-snoozed"
	GoSent    Action = "go-sent"
	GoDrafts  Action = "go-drafts"
	GoOutbox  Action = "go-outbox"
	GoArchive Action = "go-archive"
	GoSpam    Action = "go-spam"
	GoTrash   Action = "go-trash"
	GoAll     Action = "go-all"
	GoFolders Action = "go-folders"

	Search   Action = "search"
	Undo     Action = "undo"
	Refresh  Action = "refresh"
	Retry    Action = "retry"
	Dismiss  Action = "dismiss"
	Activity Action = "activity"
	Palette  Action = "palette"
	Help     Action = "help"
	Redraw   Action = "redraw"
	Suspend  Action = "suspend"
	Quit     Action = "quit"
)

// Context names the screen, or the part of one, that receives a key.
type Context string

// The contexts. Keys of InGlobal work in every context in which a person does not type text.
const (
	InGlobal   Context = "global"
	InFolders  Context = "folders"
	InThreads  Context = "threads"
	InReader   Context = "reader"
	InCompose  Context = "compose"
	InDrafts   Context = "drafts"
	InOutbox   Context = "outbox"
	InSnooze   Context = "snooze"
	InLabels   Context = "labels"
	InPalette  Context = "palette"
	InHelp     Context = "help"
	InActivity Context = "activity"
	InSearch   Context = "search"
)

var contexts = []Context{
	InGlobal, InFolders, InThreads, InReader, InCompose, InDrafts, InOutbox,
	InSnooze, InLabels, InPalette, InHelp, InActivity, InSearch,
}

// textContexts are the contexts with a text field, where a plain character is text. The
// value lists the characters that are keys there all the same. Global keys do not reach them.
var textContexts = map[Context]string{
	InCompose: "",
	InSnooze:  "123456789",
	InLabels:  " ",
	InPalette: "",
	InSearch:  "",
}

// Contexts returns every context in the order of the help screen.
func Contexts() []Context { return append([]Context(nil), contexts...) }

// Text reports whether a person types text in the context, so that plain characters are no keys.
func (c Context) Text() bool {
	_, ok := textContexts[c]
	return ok
}

// Info describes one action.
type Info struct {
	Action   Action
	Contexts []Context // where it can be done; InGlobal means every context without a text field
	Group    string    // the heading it stands under in the help
	Short    string    // one or two words for the bottom line
	Long     string    // one sentence for the help and the palette, without a full stop
}

const (
	groupMove    = "Moving"
	groupThread  = "Threads"
	groupSelect  = "Selecting"
	groupWrite   = "Writing"
	groupRead    = "Reading"
	groupCompose = "The message being written"
	groupOutbox  = "Outbox"
	groupPick    = "Choosing"
	groupCalls   = "Calls"
	groupGo      = "Going to"
	groupProgram = "Program"
)

var groups = []string{
	groupMove, groupThread, groupSelect, groupWrite, groupRead, groupCompose,
	groupOutbox, groupPick, groupCalls, groupGo, groupProgram,
}

var (
	lists    = []Context{InFolders, InThreads, InReader, InDrafts, InOutbox, InHelp, InActivity}
	movable  = append(append([]Context{}, lists...), InSnooze, InLabels, InPalette, InSearch)
	mail     = []Context{InThreads, InReader}
	answers  = []Context{InThreads, InReader}
	panes    = []Context{InFolders, InThreads, InReader, InDrafts, InOutbox}
	overlays = []Context{InSnooze, InLabels, InPalette, InSearch}
	all      = append(append([]Context{}, movable...), InCompose)
	anywhere = []Context{InGlobal, InCompose, InSnooze, InLabels, InPalette, InSearch}
)

var table = []Info{
	{Down, movable, groupMove, "move", "Move down, or scroll down in a text"},
	{Up, movable, groupMove, "move", "Move up, or scroll up in a text"},
	{Top, lists, groupMove, "top", "Go to the first line"},
	{Bottom, lists, groupMove, "bottom", "Go to the last line"},
	{HalfPageDown, lists, groupMove, "half page", "Move down by half a page"},
	{HalfPageUp, lists, groupMove, "half page", "Move up by half a page"},
	{PageDown, lists, groupMove, "page", "Move down by a page"},
	{PageUp, lists, groupMove, "page", "Move up by a page"},
	{Open, []Context{InFolders, InThreads, InDrafts, InOutbox, InActivity}, groupMove, "open", "Open what is under the cursor"},
	{Back, all, groupMove, "back", "Stop the running call, else clear the selection, else go back"},
	{NextPane, panes, groupMove, "next pane", "Move to the next pane"},
	{PrevPane, panes, groupMove, "previous pane", "Move to the previous pane"},
	{FocusLeft, panes, groupMove, "left", "Move to the pane on the left"},
	{FocusRight, panes, groupMove, "right", "Move to the pane on the right"},

	{Archive, mail, groupThread, "archive", "Archive: take it out of the inbox"},
	{Trash, []Context{InThreads, InReader, InDrafts}, groupThread, "trash", "Move to the trash; a draft is deleted"},
	{Restore, mail, groupThread, "to inbox", "Bring it back to the inbox, also out of trash, spam and archive"},
	{DeleteForever, mail, groupThread, "delete", "Delete for good, after a question"},
	{Snooze, mail, groupThread, "snooze", "Hide it until a time"},
	{Unsnooze, mail, groupThread, "wake", "Wake a snoozed thread now"},
	{Unread, mail, groupThread, "unread", "Mark as unread, or as read"},
	{MarkRead, mail, groupThread, "mark read", "Mark as read"},
	{MarkUnread, mail, groupThread, "mark unread", "Mark as unread"},
	{Star, mail, groupThread, "star", "Star, or take the star away"},
	{Label, mail, groupThread, "label", "Put labels on, or take them off"},
	{Mute, mail, groupThread, "mute", "Mute: new messages in it skip the inbox; again to hear it"},
	{Spam, mail, groupThread, "spam", "Mark as spam, or as no spam"},

	{Select, []Context{InThreads, InDrafts, InOutbox}, groupSelect, "select", "Select, or take out of the selection"},
	{SelectRange, []Context{InThreads}, groupSelect, "range", "Select everything from the last selected row to here"},
	{SelectAll, []Context{InThreads}, groupSelect, "all", "Select every row that is loaded"},
	{SelectNone, []Context{InThreads}, groupSelect, "none", "Clear the selection"},
	{SelectUnread, []Context{InThreads}, groupSelect, "unread", "Select the unread rows"},

	{Compose, []Context{InGlobal}, groupWrite, "compose", "Write a new message"},
	{Reply, answers, groupWrite, "reply", "Reply to the sender"},
	{ReplyAll, answers, groupWrite, "reply all", "Reply to everybody"},
	{ReplyPlain, answers, groupWrite, "reply, no quote", "Reply to the sender and quote nothing"},
	{ReplyAllPlain, answers, groupWrite, "reply all, no quote", "Reply to everybody and quote nothing"},
	{Forward, answers, groupWrite, "forward", "Forward the message"},

	{NextMessage, []Context{InReader}, groupRead, "next", "Next message; next hit while a search inside is open"},
	{PrevMessage, []Context{InReader}, groupRead, "previous", "Previous message; previous hit while a search inside is open"},
	{NextThread, []Context{InReader}, groupRead, "next thread", "Next thread"},
	{PrevThread, []Context{InReader}, groupRead, "previous thread", "Previous thread"},
	{ToggleMessage, []Context{InReader}, groupRead, "fold", "Fold or unfold the message"},
	{ExpandAll, []Context{InReader}, groupRead, "unfold all", "Unfold every message, or fold all but the last"},
	{ToggleQuotes, []Context{InReader}, groupRead, "quotes", "Show or hide quoted lines"},
	{ToggleHeaders, []Context{InReader}, groupRead, "headers", "Show or hide every address and the dates in full"},
	{OpenLink, []Context{InReader}, groupRead, "open link", "Open the link with that number"},
	{Copy, []Context{InReader, InActivity}, groupRead, "copy", "Copy: a link or the text of the message, or the details of a call"},
	{SaveAttachment, []Context{InReader}, groupRead, "save files", "Save an attachment"},
	{ViewAttachments, []Context{InReader}, groupRead, "view files", "View an attachment: text here, anything else in its program"},
	{ViewHTML, []Context{InReader}, groupRead, "in browser", "Open the message as it was made, in the browser; nothing is loaded for it"},
	{SwitchPart, []Context{InReader}, groupRead, "text/HTML", "Switch between the text and the HTML of a message that has both"},
	{Pipe, []Context{InReader}, groupRead, "pipe", "Pipe to a command: the text of the message, or one of its files"},
	{FindInside, []Context{InReader}, groupRead, "find", "Find inside the conversation"},
	{InviteAccept, []Context{InReader}, groupRead, "accept", "Accept the invitation; the organizer is told"},
	{InviteMaybe, []Context{InReader}, groupRead, "maybe", "Answer “maybe” to the invitation; the organizer is told"},
	{InviteDecline, []Context{InReader}, groupRead, "decline", "Decline the invitation; the organizer is told"},

	{Send, []Context{InCompose}, groupCompose, "send", "Send the message"},
	{SendLater, []Context{InCompose}, groupCompose, "later", "Send the message at a time"},
	{Save, []Context{InCompose}, groupCompose, "save", "Save the draft now; never sends"},
	{Editor, []Context{InCompose}, groupCompose, "editor", "Write the text in your own editor"},
	{Attach, []Context{InCompose}, groupCompose, "attach", "Attach a file"},
	{RemoveAttachment, []Context{InCompose}, groupCompose, "remove file", "Remove the attachment under the cursor, else the last one"},
	{Discard, []Context{InCompose}, groupCompose, "discard", "Throw the draft away, after a question"},
	{NextField, []Context{InCompose}, groupCompose, "next", "Next field"},
	{PrevField, []Context{InCompose}, groupCompose, "previous", "Previous field"},
	{Copies, []Context{InCompose}, groupCompose, "Cc/Bcc", "Show Cc and Bcc"},
	{EditUndo, []Context{InCompose}, groupCompose, "undo typing", "Undo the last change to the text"},
	{EditRedo, []Context{InCompose}, groupCompose, "redo typing", "Do again what was undone in the text"},

	{SendNow, []Context{InOutbox}, groupOutbox, "send now", "Try to send now"},
	{Hold, []Context{InOutbox}, groupOutbox, "hold", "Hold: keep it here until you say so"},
	{Drop, []Context{InOutbox}, groupOutbox, "drop", "Drop the message, after a question"},
	{Edit, []Context{InOutbox}, groupOutbox, "edit", "Take it back into the editor; only while no attempt is unanswered"},
	{EditAsNew, []Context{InOutbox}, groupOutbox, "as new", "Edit as a new message; two may arrive when the first was accepted"},

	{Accept, overlays, groupPick, "choose", "Take what is chosen or typed"},
	{SnoozePick, []Context{InSnooze}, groupPick, "choose", "Take the time with that number"},
	{ToggleLabel, []Context{InLabels}, groupPick, "on/off", "Put the label on, or take it off"},
	{RenameLabel, []Context{InLabels}, groupPick, "rename", "Give the label another name"},
	{ColorLabel, []Context{InLabels}, groupPick, "colour", "Give the label another colour"},
	{DeleteLabel, []Context{InLabels}, groupPick, "delete", "Delete the label, after a question"},
	{Complete, []Context{InPalette, InSearch}, groupPick, "complete", "Complete the word"},

	{Cancel, []Context{InActivity}, groupCalls, "cancel", "Cancel the call under the cursor"},
	{CancelAll, []Context{InActivity}, groupCalls, "cancel all", "Cancel every running call"},

	{GoInbox, []Context{InGlobal}, groupGo, "inbox", "Go to the inbox"},
	{GoStarred, []Context{InGlobal}, groupGo, "starred", "Go to the starred threads"},
	{GoSnoozed, []Context{InGlobal}, groupGo, "snoozed", "Go to the snoozed threads"},
	{GoSent, []Context{InGlobal}, groupGo, "sent", "Go to the sent mail"},
	{GoDrafts, []Context{InGlobal}, groupGo, "drafts", "Go to the drafts"},
	{GoOutbox, []Context{InGlobal}, groupGo, "outbox", "Go to the outbox"},
	{GoArchive, []Context{InGlobal}, groupGo, "archive", "Go to the archive"},
	{GoSpam, []Context{InGlobal}, groupGo, "spam", "Go to the spam"},
	{GoTrash, []Context{InGlobal}, groupGo, "trash", "Go to the trash"},
	{GoAll, []Context{InGlobal}, groupGo, "all mail", "Go to all mail"},
	{GoFolders, []Context{InGlobal}, groupGo, "folders", "Go to the list of folders and labels"},

	{Search, []Context{InGlobal}, groupProgram, "search", "Search the mail"},
	{Undo, []Context{InGlobal}, groupProgram, "undo", "Undo the last change, the last send too"},
	{Refresh, []Context{InGlobal}, groupProgram, "refresh", "Look for new mail now"},
	{Retry, []Context{InGlobal}, groupProgram, "try again", "Try again what failed or waits"},
	{Dismiss, []Context{InGlobal}, groupProgram, "dismiss", "Dismiss every failure from the bottom line"},
	{Activity, []Context{InGlobal}, groupProgram, "activity", "Show every call, its attempts, waits and results"},
	{Palette, append([]Context{InGlobal}, InCompose), groupProgram, "commands", "Find an action by its name"},
	{Help, []Context{InGlobal}, groupProgram, "keys", "Show the keys"},
	{Redraw, []Context{InGlobal}, groupProgram, "redraw", "Draw the screen again"},
	{Suspend, anywhere, groupProgram, "suspend", "Suspend the program; fg brings it back"},
	{Quit, append(append([]Context{}, anywhere...), InFolders, InThreads), groupProgram, "quit", "Quit"},
}

var infos = func() map[Action]*Info {
	m := make(map[Action]*Info, len(table))
	for i := range table {
		m[table[i].Action] = &table[i]
	}
	return m
}()

// Actions returns every action in the order of the help.
func Actions() []Info {
	out := make([]Info, len(table))
	for i, in := range table {
		in.Contexts = append([]Context(nil), in.Contexts...)
		out[i] = in
	}
	return out
}

// in reports whether the action can be done, and so bound, in the context.
func (in *Info) in(ctx Context) bool {
	for _, c := range in.Contexts {
		if c == ctx || c == InGlobal && !ctx.Text() {
			return true
		}
	}
	return false
}
