#include "textflag.h"

// func prefetch(f *Frame)
TEXT ·prefetch(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ f+0(FP), AX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	RET
