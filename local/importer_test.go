package local

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// A fault of ours must not read like a fault of the message, and the log says where it is.
func TestImportNamesItsOwnFault(t *testing.T) {
	var log bytes.Buffer
	im := &importer{s: &Server{log: slog.New(slog.NewTextHandler(&log, nil))}} // without a context it panics
	_, err := im.prepareAnyway(&importItem{path: "a.mbox", offset: 7, raw: []byte("Subject: a\n\na\n")})
	if err == nil || !strings.HasPrefix(err.Error(), "internal error") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"path=a.mbox", "offset=7", "prepareAnyway"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
}
