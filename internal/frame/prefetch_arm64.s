#include "textflag.h"

// func prefetch(f *Frame)
TEXT ·prefetch(SB), NOSPLIT|NOFRAME, $0-8
	MOVD f+0(FP), R0
	PRFM (R0), PLDL1KEEP
	PRFM 64(R0), PLDL1KEEP
	RET
