syntax match imagoAdded /^│ +.*/
syntax match imagoRemoved /^│ -.*/
syntax match imagoWarning /^! .*/
syntax match imagoHunk /^[━●] .*/
highlight default link imagoAdded DiffAdd
highlight default link imagoRemoved DiffDelete
highlight default link imagoWarning WarningMsg
highlight default link imagoHunk Title
