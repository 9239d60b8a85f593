// Package api is a client of the OpenEmail HTTP API.
//
// A [Client] makes typed calls, each a method of one of its services: threads.get is
// Threads.Get, contacts.listPeople is Contacts.ListPeople. Each call is one operation of
// [Operations], and that table alone decides whether a failed attempt is repeated: reads
// are, sends are under one idempotency key, some writes are, everything else goes out
// once. One attempt is exactly one request on the wire, and redirects are never followed.
//
//	c, err := api.New(api.FromEnv(api.Options{}))
//	if err != nil { … }
//	for thread, err := range c.Threads.All(ctx, api.ThreadListParams{Folder: "inbox"}) { … }
//
// An operation that has no method yet is made with [Client.Do].
//
// # Values
//
// In answers a text that is null or missing is empty; numbers, flags, instants and
// objects that may be missing are pointers, nil when they are. Instants are [time.Time]
// in UTC, read leniently. The name that each object carries ("object") is left out where
// the Go type says it. Enums are string types with the known values as constants, and
// keep unknown ones. What the contract leaves open is [Open]: JSON as it came.
//
// In bodies a field of type [Opt] is left out, null, or set: three different things,
// with [Set] and [Null]. Nil lists and maps are left out and empty ones are sent, except
// where the contract requires them. Instants are [Instant], which [At] makes. A union is a
// struct with a field for each variant, exactly one of which is set.
//
// # Lists
//
// List methods return one page, and All methods walk every page. A walk ends when the
// caller stops, when there is no more, when a cursor comes back that was already
// followed, or with an error when its context ends.
//
// # Bytes
//
// [Upload] bodies are streamed, and so are downloads, up to a limit. Both report their
// [Progress] to observers. See [Upload] and [Downloaded] for when they are repeated.
//
// # Credentials
//
// A client has one credential: an API key, an access token, or a function that gives
// one. A call may carry another key ([WithAPIKey]). Temporary mailboxes are opened by their
// token ([Options].InboxToken, [WithInboxToken]). When a sensitive call needs the person
// once more ([ErrStepUp]), [Client.StepUp] runs the flow.
//
// # Errors
//
// An error is an [*Error] when the server answered, a [*NetworkError] when no usable
// answer came or the caller cancelled, a [*TransferError] when the caller's reader or
// writer failed, and an [*ArgumentError] when the call was refused before anything was
// sent. All match the targets of this package with [errors.Is].
//
// [Async] runs calls beside the caller's own loop, with bounded concurrency, priorities
// and exactly one final event a call.
//
// A Client and an Async may be used from many goroutines at once.
package api
