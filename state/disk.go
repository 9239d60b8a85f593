package state

import (
	"errors"

	"modernc.org/sqlite"
)

// diskReason puts why something could not be written into few words.
func diskReason(err error) string {
	// Primary result codes, https://www.sqlite.org/rescode.html
	const (
		perm     = 3
		readOnly = 8
		ioErr    = 10
		corrupt  = 11
		full     = 13
		cantOpen = 14
		notADB   = 26
	)
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case full:
			return "the disk is full"
		case readOnly, perm, cantOpen:
			return "teapost may not write to its folder"
		case ioErr:
			return "the disk has an error"
		case corrupt, notADB:
			return "the file of teapost is damaged"
		}
	}
	return err.Error()
}
