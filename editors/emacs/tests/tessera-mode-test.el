;;; tessera-mode-test.el --- Tests of tessera-mode  -*- lexical-binding: t -*-
;; emacs -Q --batch -L editors/emacs -l editors/emacs/tests/tessera-mode-test.el -f ert-run-tests-batch-and-exit

(require 'ert)
(require 'tessera-mode)

(defmacro tessera-test--in (text &rest body)
  "Evaluate BODY in a buffer of the mode with TEXT."
  (declare (indent 1))
  `(with-temp-buffer
     (insert ,text)
     (tessera-mode)
     (font-lock-ensure)
     (goto-char (point-min))
     ,@body))

(defun tessera-test--face (word)
  "The face of the first place with WORD."
  (goto-char (point-min))
  (search-forward word)
  (get-text-property (match-beginning 0) 'face))

(ert-deftest tessera-test-faces ()
  (tessera-test--in "\"\"\"Says what\nit is: def.\"\"\"
from tessera.nn import gelu  # of def
%if defined(SIZE)
const WIDTH = 64
%endif
@kernel.schedule(s)
def f(x: Tensor[B, D, bf16 @accum(f32)]) -> Tensor[B, D, bf16] where D % 2 == 0:
    y = tile.load(x) + where(x, 'it''s', None)
    return softmax(y)
"
    (dolist (expected '(("Says what" . font-lock-string-face)
                        ("it is: def" . font-lock-string-face)
                        ("from" . font-lock-keyword-face)
                        ("of def" . font-lock-comment-face)
                        ("%if" . font-lock-preprocessor-face)
                        ("const" . font-lock-keyword-face)
                        ("WIDTH" . font-lock-variable-name-face)
                        ("@kernel" . font-lock-preprocessor-face)
                        ("f(x" . font-lock-function-name-face)
                        ("Tensor" . font-lock-type-face)
                        ("bf16" . font-lock-type-face)
                        ("@accum" . font-lock-builtin-face)
                        ("where D" . font-lock-keyword-face)
                        ("load" . font-lock-builtin-face)
                        ("where(" . font-lock-builtin-face)
                        ("'it" . font-lock-string-face)
                        ("None" . font-lock-constant-face)
                        ("softmax" . font-lock-builtin-face)
                        ("y)" . nil)))
      (should (equal (cons (car expected) (tessera-test--face (car expected))) expected)))))

(ert-deftest tessera-test-indentation ()
  (let ((text "module M(D: dim):
    w: Param[D, f32] = ones()

    def f(self, x,
          *, y=1):
        if x:
            return [
                1, 2,
            ]
        elif y:
            pass
%if A
        z = (x +
             y)  # of f
%endif
        return z

const N = 1
"))
    (tessera-test--in text
      (indent-region (point-min) (point-max))
      (should (equal (buffer-string) text)))
    (tessera-test--in "def f(self, x,\n*, y=1):\nif x:\ny = [\n1,\n]\nreturn x\n"
      (indent-region (point-min) (point-max))
      (should (equal (buffer-string)
                     "def f(self, x,\n      *, y=1):\nif x:\ny = [\n    1,\n]\nreturn x\n")))
    (tessera-test--in "if x:\n"
      (goto-char (point-max))
      (tessera-indent-line)
      (should (= (current-column) 4))
      (insert "return x\n")
      (tessera-indent-line)
      (should (= (current-column) 0))
      (insert "else:")
      (tessera-indent-line)
      (should (= (current-indentation) 0)))))

(ert-deftest tessera-test-comments ()
  (tessera-test--in "x = 1\n"
    (comment-region (point-min) (point-max))
    (should (equal (buffer-string) "# x = 1\n"))))

(ert-deftest tessera-test-format ()
  (skip-unless (executable-find "tessera-fmt"))
  (tessera-test--in "x=1\ny  = 2\n"
    (tessera-format-region (point-min) (+ 3 (point-min)))
    (should (equal (buffer-string) "x = 1\ny  = 2\n"))
    (tessera-format-buffer)
    (should (equal (buffer-string) "x = 1\ny = 2\n")))
  (tessera-test--in "x=(1\n"
    (tessera-format-buffer)
    (should (equal (buffer-string) "x=(1\n"))))

(ert-deftest tessera-test-all-sources ()
  "Every program of the repository is indented as it is written."
  (let ((root (expand-file-name "../../../" (file-name-directory (or load-file-name buffer-file-name
                                                                     (symbol-file 'tessera-test--face))))))
    (dolist (file (directory-files-recursively (expand-file-name "stdlib" root) "\\.tsr\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (let ((text (buffer-string)))
          (tessera-mode)
          (let ((inhibit-message t)) (indent-region (point-min) (point-max)))
          (should (equal (cons file (buffer-string)) (cons file text))))))))
;;; tessera-mode-test.el ends here
