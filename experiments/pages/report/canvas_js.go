package report

import "errors"

// PictureFormats has no formats: in a browser's tab, the page draws its plots itself.
var PictureFormats []string

// Picture refuses every format. What draws would make the program that a browser loads twice as large.
func (*Drawing) Picture(string) ([]byte, error) {
	return nil, errors.New("there are no figure files in a browser: run the scenario on a computer of your own")
}
