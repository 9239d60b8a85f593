package api

import (
	"context"
	"io"
)

// ImportSource is a file that ImportFiles brings in.
type ImportSource struct {
	Name string
	Body io.ReaderAt // read in pieces, perhaps more than once
	Size int64       // bytes
}

// ImportFilesInput is what ImportFiles brings in.
type ImportFilesInput struct {
	AddressID string // the address that gets the mail
	Files     []ImportSource
	Options   *ImportOptions // nil: the server's
	// Progress hears how many bytes of all files have arrived; nil: nobody does.
	Progress func(sent, total int64)
}

// ImportFiles brings files of mail in: it creates the import, uploads every file in
// pieces of the size that the server asks for, and starts it. When it fails on the way,
// the import that was created is returned beside the error; imports.uploadState says
// what has arrived, and Cancel ends it. Options hold for each of the calls.
//
// Its first request is operation imports.importFiles: POST /imports. Once: there is no
// second attempt. The pieces and the start may be repeated after a failed attempt.
func (s ImportsService) ImportFiles(ctx context.Context, in ImportFilesInput, options ...CallOption) (*Import, error) {
	body := ImportCreate{AddressID: in.AddressID, Options: in.Options}
	var total, sent int64
	for _, f := range in.Files {
		body.Files = append(body.Files, ImportFileDescriptor{Name: f.Name, Bytes: f.Size})
		total += f.Size
	}
	made, err := fetch[Import](ctx, s.core, "imports.importFiles", nil, query{}, body, options)
	if err != nil {
		return nil, err
	}
	// Each request is a call of its own; an id that was given names the first.
	options = append(options[:len(options):len(options)], WithCallID(""))
	if made.ChunkBytes <= 0 {
		return made, argErr("the server does not say how large a piece may be")
	}
	for i, f := range in.Files {
		for chunk, at := 0, int64(0); at < f.Size; chunk, at = chunk+1, at+made.ChunkBytes {
			n := min(made.ChunkBytes, f.Size-at)
			piece := Upload{Body: io.NewSectionReader(f.Body, at, n), Size: n}
			if _, err := s.UploadChunk(ctx, made.ID, i, chunk, piece, options...); err != nil {
				return made, err
			}
			if sent += n; in.Progress != nil {
				in.Progress(sent, total)
			}
		}
	}
	started, err := s.Start(ctx, made.ID, options...)
	if err != nil {
		return made, err
	}
	return started, nil
}
