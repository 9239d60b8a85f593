package bodytext

import (
	"slices"
	"strings"

	"codeberg.org/teapost/teapost/internal/cells"
)

const (
	maxColumns = 12
	maxCell    = 300 // bytes of a cell; longer ones are text in a layout
	columnGap  = 2   // cells
	minColumn  = 6   // cells
)

// tableBuilder collects the cells of an open table.
type tableBuilder struct {
	out  *[]*block // where the table will go
	rows [][]*[]*block
}

func (t *tableBuilder) row() { t.rows = append(t.rows, nil) }

func (t *tableBuilder) cell() *[]*block {
	if len(t.rows) == 0 {
		t.row()
	}
	c := new([]*block)
	last := len(t.rows) - 1
	t.rows[last] = append(t.rows[last], c)
	return c
}

// closeTable draws a table of data as one block with its columns, and one that serves the layout as what is in its cells.
func (p *parser) closeTable(t *tableBuilder) {
	if rows := t.data(p.st.quote); rows != nil {
		*p.out = append(*p.out, &block{kind: Table, rows: rows, gap: true, quote: p.st.quote})
		p.gap = true
		return
	}
	for _, row := range t.rows {
		for _, c := range row {
			if len(*p.out) == 0 {
				*p.out = *c // deep nesting must not copy everything at each level
				continue
			}
			*p.out = append(*p.out, *c...)
		}
	}
}

// data returns the cells of a table of data inside a quotation of some depth, nil when it serves the layout.
func (t *tableBuilder) data(quote int) [][]cell {
	columns := 0
	for _, row := range t.rows {
		columns = max(columns, len(row))
		for _, c := range row {
			if len(*c) > 1 {
				return nil
			}
			if len(*c) == 1 {
				if b := (*c)[0]; b.kind != Para && b.kind != Heading || b.first != b.rest || b.quote != quote || len(b.text) > maxCell {
					return nil
				}
			}
		}
	}
	if columns < 2 {
		return nil
	}
	used := make([]bool, columns)
	var rows [][]cell
	most := 0
	for _, row := range t.rows {
		filled := 0
		out := make([]cell, len(row))
		for i, c := range row {
			if len(*c) == 1 {
				out[i] = cell{(*c)[0].text, (*c)[0].spans}
				used[i] = true
				filled++
			}
		}
		if filled > 0 {
			rows = append(rows, out)
		}
		most = max(most, filled)
	}
	if most < 2 {
		return nil
	}
	for i, row := range rows {
		kept := row[:0]
		for j, c := range row {
			if used[j] {
				kept = append(kept, c)
			}
		}
		if len(kept) > maxColumns {
			return nil
		}
		rows[i] = kept
	}
	return rows
}

// single returns the cell of a row that has only one with text, which then goes over all columns.
func single(row []cell) (cell, bool) {
	var found cell
	n := 0
	for i := range row {
		if row[i].text != "" {
			found = row[i]
			n++
		}
	}
	return found, n == 1 && row[0].text != ""
}

func tableLines(out []Line, rows [][]cell, width int) []Line {
	drawn := make([][]cell, len(rows))
	columns := 0
	for i, row := range rows {
		drawn[i] = make([]cell, len(row))
		for j, c := range row {
			c.text, c.spans = numbered(c.text, c.spans)
			drawn[i][j] = c
		}
		columns = max(columns, len(row))
	}
	widths := make([]int, columns)
	for _, row := range drawn {
		if _, alone := single(row); alone {
			continue
		}
		for j, c := range row {
			for part := range strings.SplitSeq(c.text, "\n") {
				widths[j] = max(widths[j], cells.Width(part))
			}
		}
	}
	if !shrink(widths, width) {
		return stacked(out, drawn, width)
	}
	for _, row := range drawn {
		if c, alone := single(row); alone {
			out = flow(out, c.text, c.spans, width, "", "")
			continue
		}
		out = beside(out, row, widths)
	}
	return out
}

// shrink makes the widest columns narrower until all fit, and reports whether that was possible.
func shrink(widths []int, width int) bool {
	total := columnGap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > width {
		widest := slices.Max(widths)
		if widest <= minColumn {
			return false
		}
		// Down to the second widest at once, or as far as needed.
		second, n := minColumn, 0
		for _, w := range widths {
			if w == widest {
				n++
			} else {
				second = max(second, w)
			}
		}
		down := min(widest-second, (total-width+n-1)/n)
		for i, w := range widths {
			if w == widest {
				widths[i] -= down
				total -= down
			}
		}
	}
	return true
}

// beside draws a row with its cells in columns.
func beside(out []Line, row []cell, widths []int) []Line {
	parts := make([][]Line, len(row))
	height := 0
	for j, c := range row {
		if c.text != "" {
			parts[j] = flow(nil, c.text, c.spans, max(2, widths[j]), "", "")
		}
		height = max(height, len(parts[j]))
	}
	for y := range height {
		line := Line{Cont: y > 0}
		var text strings.Builder
		at := 0 // cells
		col := 0
		for j := range row {
			if y < len(parts[j]) && parts[j][y].Text != "" {
				text.WriteString(cells.Blank(col - at))
				at = max(at, col)
				for _, s := range parts[j][y].Spans {
					line.Spans = append(line.Spans, Span{s.Start + text.Len(), s.End + text.Len(), s.Style, s.Link})
				}
				text.WriteString(parts[j][y].Text)
				at += cells.Width(parts[j][y].Text)
			}
			col += widths[j] + columnGap
		}
		line.Text = text.String()
		out = append(out, line)
	}
	return out
}

// stacked draws the cells one below another, for a window that is too narrow for the columns.
func stacked(out []Line, rows [][]cell, width int) []Line {
	for i, row := range rows {
		if i > 0 {
			out = append(out, Line{})
		}
		for _, c := range row {
			if c.text != "" {
				out = flow(out, c.text, c.spans, width, "", "")
			}
		}
	}
	return out
}
