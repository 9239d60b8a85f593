package state

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
)

// What the disk says is told in a person's words, not in those of the database.
func TestDiskReason(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "small.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // a pragma is of its connection
	if _, err := db.Exec("CREATE TABLE t(x); PRAGMA max_page_count = 2"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("INSERT INTO t VALUES(zeroblob(100000))")
	if got := diskReason(err); got != "the disk is full" {
		t.Errorf("full: %q (%v)", got, err)
	}
	if _, err := db.Exec("PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("INSERT INTO t VALUES(1)")
	if got := diskReason(err); got != "teapost may not write to its folder" {
		t.Errorf("read only: %q (%v)", got, err)
	}
	if got := diskReason(errors.New("no such file")); got != "no such file" {
		t.Errorf("another error: %q", got)
	}
}
