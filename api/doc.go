// Package api is a client of the OpenEmail HTTP API.
//
// A [Client] makes typed calls. Each call is one operation of [Operations], and
// that table alone decides whether a failed attempt is repeated: reads are, sends
// are under one idempotency key, some writes are, everything else goes out once.
// One attempt is exactly one request on the wire, and redirects are never followed.
//
//	c, err := api.New(api.FromEnv(api.Options{}))
//	if err != nil { … }
//	for thread, err := range c.Threads.All(ctx, api.ThreadListParams{Folder: "inbox"}) { … }
//
// An error is an [*Error] when the server answered, a [*NetworkError] when no
// usable answer came or the caller cancelled, and an [*ArgumentError] when the call
// was refused before anything was sent. [Async] runs calls beside the caller's own
// loop, with bounded concurrency, priorities and exactly one final event a call.
//
// A Client and an Async may be used from many goroutines at once.
package api
