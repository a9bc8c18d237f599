;;; eglot-test.el --- Emacs' eglot with tessera-lsp  -*- lexical-binding: t -*-

;; Run by tests/lsp/clients.sh; the build folder is in TESSERA_BUILD.

(require 'ert)
(require 'eglot)
(require 'xref)

(defvar eglot-test-folder (file-name-directory (or load-file-name buffer-file-name)))
(load (expand-file-name "../../editors/emacs/tessera-words.el" eglot-test-folder) nil t)
(add-to-list 'load-path (expand-file-name "../../editors/emacs" eglot-test-folder))
(require 'tessera-mode)

(defconst eglot-test-source
  (with-temp-buffer
    (insert-file-contents (expand-file-name "model.tsr" eglot-test-folder))
    (buffer-string)))

(defun eglot-test-wait (condition)
  "Let the server work until CONDITION holds; fail after ten seconds."
  (let ((end (+ (float-time) 10)))
    (while (and (not (funcall condition)) (< (float-time) end))
      (accept-process-output nil 0.05))
    (should (funcall condition))))

(defun eglot-test-go-to (text &optional into)
  "Put point INTO characters into the first occurrence of TEXT."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (+ (match-beginning 0) (or into 0))))

(defvar-local eglot-test-said 'nothing
  "What the server said last of this buffer.")

(defun eglot-test-attach (buffer)
  "Keep in BUFFER the diagnostics that arrive."
  (advice-add 'eglot-handle-notification :after
              (lambda (_server method &rest arguments)
                (when (eq method 'textDocument/publishDiagnostics)
                  (with-current-buffer buffer
                    (setq eglot-test-said (append (plist-get arguments :diagnostics) nil)))))
              '((name . eglot-test))))

(ert-deftest eglot-test-session ()
  (let* ((folder (make-temp-file "tessera" t))
         (file (expand-file-name "model.tsr" folder))
         (program (expand-file-name "bin/tessera-lsp" (getenv "TESSERA_BUILD")))
         (eglot-server-programs `((tessera-mode . (,program))))
         (eglot-sync-connect 10)
         (default-directory (file-name-as-directory folder)))
    (write-region eglot-test-source nil file nil 'silent)
    (with-current-buffer (find-file-noselect file)
      (should (eq major-mode 'tessera-mode))
      (apply #'eglot--connect (eglot--guess-contact))
      (should (eglot-managed-p))
      (eglot-test-attach (current-buffer))
      ;; Diagnostics.
      (eglot-test-go-to "scaled(layernorm" 6)
      (insert "d")
      (eglot--signal-textDocument/didChange)
      (eglot-test-wait (lambda () (and (consp eglot-test-said) (= (length eglot-test-said) 1))))
      (should (equal (plist-get (car eglot-test-said) :code) "unknown-name"))
      (delete-char -1)
      (eglot--signal-textDocument/didChange)
      (eglot-test-wait (lambda () (null eglot-test-said)))
      ;; Hover.
      (eglot-test-go-to "scaled(layernorm")
      (let ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover
                                    (eglot--TextDocumentPositionParams))))
        (should (string-match-p "def scaled(x: Tensor" (plist-get (plist-get hover :contents) :value))))
      ;; Definition.
      (let* ((found (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot)))
             (place (xref-item-location (car found))))
        (eglot-test-go-to "def scaled")
        (should (= (xref-location-line place) (line-number-at-pos))))
      ;; References.
      (eglot-test-go-to "by: float")
      (should (= 3 (length (append (jsonrpc-request (eglot-current-server) :textDocument/references
                                                    (append (eglot--TextDocumentPositionParams)
                                                            '(:context (:includeDeclaration t))))
                                   nil))))
      ;; Rename.
      (eglot-rename "factor")
      (should (string-match-p "scaled(layernorm(x), factor=0.5)" (buffer-string)))
      (should (string-match-p "y = x \\* factor" (buffer-string)))
      ;; Completion.
      (eglot-test-go-to "gelu" 2)
      (let ((capf (eglot-completion-at-point)))
        (should (member "gelu" (all-completions "ge" (nth 2 capf)))))
      ;; Formatting.
      (eglot-test-go-to "y = x * factor")
      (delete-region (point) (line-end-position))
      (insert "y=x*factor")
      (eglot-format-buffer)
      (should (string-match-p "    y = x \\* factor" (buffer-string)))
      ;; A stage beside the source, also of what is not saved.
      (eglot-test-go-to "return gelu")
      (let* ((line (line-number-at-pos))
             (source (current-buffer))
             (stage (tessera-show-stage "Graph")))
        (with-current-buffer stage
          (should (eq major-mode 'tessera-stages-mode))
          (search-forward "gir.gelu")
          (tessera-stages--follow)
          (should (eq (overlay-buffer tessera-stages--mark) source))
          (save-window-excursion
            (tessera-stages-visit)
            (should (eq (current-buffer) source))
            (should (= (line-number-at-pos) line))))
        (kill-buffer stage))
      (set-buffer-modified-p nil)
      (eglot-shutdown (eglot-current-server)))))

;;; eglot-test.el ends here
