// Package cases holds tests only: it takes the small inputs in testdata that have broken mail programs before, and any
// difficult real mail beside the repository, through the whole program as a person meets it. They are imported into an
// empty mailbox, fetched by the client, kept by the state and drawn by the real screens.
//
// Some files hold control characters on purpose: look at them with "cat -v".
package cases
