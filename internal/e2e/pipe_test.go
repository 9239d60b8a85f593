//go:build linux

package e2e

import "testing"

// A command that gets a message has the terminal: ctrl+c stops it, and teapost is there again after it.
func TestPipeToACommand(t *testing.T) {
	t.Parallel()
	_, tt := sample(t, 80, 24)
	tt.to("Compiler notes")
	tt.press("enter")
	tt.see(`The second pass is done`)
	tt.press("|")
	tt.see(`Pipe what to a command\?`)
	tt.press("enter")
	tt.see(`Pipe the message to a command`)
	tt.press("head -n 1; printf '%s' key=$OPENEMAIL_API_KEY; echo; echo ready; sleep 1000")
	tt.see(`sleep 1000`)
	tt.press("enter")
	tt.see(`From: Grace Hall <grace@example.org>`, `^key=$`, `^ready`)
	tt.write("\x03")
	tt.see(`It was stopped · enter goes back to teapost`)
	tt.write("\r")
	tt.see(`The second pass is done`, `esc back`)
	tt.press("q")
	tt.see(`Inbox +\d unread`)
	tt.quit()
}
