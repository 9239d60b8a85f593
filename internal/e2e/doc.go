// Package e2e holds tests of the built program as a person meets it: real processes on pseudo-terminals, real sockets,
// real files, and kill -9. It needs Go alone and runs on Linux; elsewhere it has no tests.
package e2e
