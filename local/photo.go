package local

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"image"
	"image/color"
	_ "image/gif" // so that it can be decoded
	"image/jpeg"
	_ "image/png" // as above
	"net/http"
)

// Pictures of people are kept small, so that an answer can hold them as data: addresses: there is no other server that
// could give them out.

const (
	photoSide        = 128
	photoSamples     = 8 // along each side, of the pixels that one stands for
	maxPhotoBytes    = 10 << 20
	maxPhotoPixels   = 16 << 20
	maxWebPBytes     = 64 << 10
	photoJPEGQuality = 85
)

// smallPhoto makes a picture small and takes everything else out of it: places, names of cameras. WebP is kept as it is.
func smallPhoto(raw []byte) (data []byte, contentType string, err error) {
	if len(raw) > maxPhotoBytes {
		return nil, "", invalidField("body", "The picture has more than %d MiB.", maxPhotoBytes>>20)
	}
	if kind := http.DetectContentType(raw); kind == "image/webp" {
		if len(raw) > maxWebPBytes {
			return nil, "", invalidField("body", "A WebP picture may have %d KiB here; send it as PNG or JPEG.", maxWebPBytes>>10)
		}
		return raw, kind, nil
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || size.Width < 1 || size.Height < 1 {
		return nil, "", invalidField("body", "The body is no picture that can be read; PNG, JPEG, GIF and WebP can.")
	}
	if size.Width*size.Height > maxPhotoPixels {
		return nil, "", invalidField("body", "The picture has %d x %d pixels; %d million are the most.", size.Width, size.Height, maxPhotoPixels>>20)
	}
	img, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, "", invalidField("body", "The picture cannot be read to its end.")
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, shrink(img), &jpeg.Options{Quality: photoJPEGQuality}); err != nil {
		return nil, "", err
	}
	return out.Bytes(), "image/jpeg", nil
}

// shrink makes a picture fit, on white, each pixel the mean of some of those that it stands for.
func shrink(img image.Image) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	if longest := max(w, h); longest > photoSide {
		w, h = max(1, w*photoSide/longest), max(1, h*photoSide/longest)
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			x0, x1 := b.Min.X+x*b.Dx()/w, b.Min.X+(x+1)*b.Dx()/w
			y0, y1 := b.Min.Y+y*b.Dy()/h, b.Min.Y+(y+1)*b.Dy()/h
			var red, green, blue, n uint64
			for yy := y0; yy < max(y1, y0+1); yy += max(1, (y1-y0)/photoSamples) {
				for xx := x0; xx < max(x1, x0+1); xx += max(1, (x1-x0)/photoSamples) {
					r, g, bl, a := img.At(xx, yy).RGBA() // multiplied by a
					white := uint64(0xffff - a)
					red, green, blue, n = red+uint64(r)+white, green+uint64(g)+white, blue+uint64(bl)+white, n+1
				}
			}
			mean := func(sum uint64) uint8 { return uint8(sum / n >> 8) }
			out.SetRGBA(x, y, color.RGBA{mean(red), mean(green), mean(blue), 0xff})
		}
	}
	return out
}

// photoURL is the address of a picture that holds the picture, or null.
func photoURL(kind sql.NullString, data []byte) any {
	if !kind.Valid {
		return nil
	}
	return "data:" + kind.String + ";base64," + base64.StdEncoding.EncodeToString(data)
}

func (t *tx) savePhoto(owner string, data []byte, kind string, from int64) error {
	return t.exec("INSERT OR REPLACE INTO photos(owner, content_type, data, import_id) VALUES(?,?,?,?)", owner, kind, data, nullID(from))
}

// setPhoto gives a contact a picture.
func (s *Server) setPhoto(c *call) (any, error) {
	raw, err := readBytes(c.Request)
	if err != nil {
		return nil, err
	}
	data, kind, err := smallPhoto(raw)
	if err != nil {
		return nil, err
	}
	return s.changePhoto(c, func(t *tx, email string) error { return t.savePhoto(email, data, kind, 0) })
}

func (s *Server) removePhoto(c *call) (any, error) {
	return s.changePhoto(c, func(t *tx, email string) error { return t.exec("DELETE FROM photos WHERE owner = ?", email) })
}

func (s *Server) changePhoto(c *call, change func(*tx, string) error) (any, error) {
	email, _, err := contactEmail(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.mustChange("contact", "UPDATE contacts SET updated_at = ? WHERE email = ?", t.now, email); err != nil {
			return err
		}
		return change(t, email)
	})
	if err != nil {
		return nil, err
	}
	return s.contact(c.ctx, email)
}
