;;; tessera-mode.el --- Major mode for Tessera  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "26.1"))
;; Keywords: languages

;;; Commentary:

;; Colours, indents and formats .tsr files, and registers tessera-lsp with Eglot:
;;
;;   (add-to-list 'load-path "/path/to/editors/emacs")
;;   (require 'tessera-mode)
;;   (add-hook 'tessera-mode-hook #'eglot-ensure)
;;   (add-hook 'tessera-mode-hook #'tessera-format-on-save-mode)

;;; Code:

(require 'subr-x)
(require 'tessera-words)

(defgroup tessera nil "Editing Tessera source." :group 'languages)

(defcustom tessera-format-command "tessera-fmt"
  "The formatter." :type 'string)

(defcustom tessera-lsp-command '("tessera-lsp")
  "The language server with its arguments." :type '(repeat string))

(defcustom tessera-indent-offset 4
  "Columns of a block." :type 'integer :safe #'integerp)

(defconst tessera--soft-keywords "^\\s-*\\(const\\|dim\\|param\\|module\\|on\\)\\s-+[A-Za-z_\"']"
  "Names that act as keywords where they begin a statement.")

(defconst tessera-font-lock-keywords
  `((,(concat "^\\s-*\\(%" (regexp-opt tessera-words-directives) "\\)\\_>")
     1 font-lock-preprocessor-face)
    ("^\\s-*\\(@\\s-*[A-Za-z_][A-Za-z_0-9.]*\\)" 1 font-lock-preprocessor-face)
    (,(concat "@\\s-*" (regexp-opt tessera-words-policies 'symbols)) . font-lock-builtin-face)
    (,tessera--soft-keywords 1 font-lock-keyword-face)
    ("[])A-Za-z0-9_\"']\\s-+\\(where\\)\\s-+[^=]" 1 font-lock-keyword-face)
    ("\\_<\\(?:def\\|module\\)\\s-+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1 font-lock-function-name-face)
    ("^\\s-*\\(?:const\\|param\\|dim\\)\\s-+\\([A-Za-z_][A-Za-z_0-9]*\\)"
     1 font-lock-variable-name-face)
    ("\\_<tile\\.\\([A-Za-z_][A-Za-z_0-9]*\\)" 1 font-lock-builtin-face)
    (,(regexp-opt tessera-words-keywords 'symbols) . font-lock-keyword-face)
    (,(regexp-opt tessera-words-constants 'symbols) . font-lock-constant-face)
    (,(regexp-opt tessera-words-dtypes 'symbols) . font-lock-type-face)
    (,(regexp-opt tessera-words-types 'symbols) . font-lock-type-face)
    (,(concat (regexp-opt (cons "where" tessera-words-builtins) 'symbols) "\\s-*(") 1 font-lock-builtin-face)))

(defvar tessera-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?' "\"" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "_" table)
    (dolist (operator '(?+ ?- ?* ?/ ?% ?@ ?& ?| ?^ ?~ ?< ?> ?= ?!))
      (modify-syntax-entry operator "." table))
    table))

(defun tessera--string-quotes ()
  "Give the quotes of a long string, the outermost ones, the syntax of fences."
  (let* ((begin (match-beginning 0))
         (state (save-excursion (syntax-ppss begin)))
         (in-string (nth 3 state)))
    (cond ((nth 4 state) nil)
          ((and (eq in-string t)
                (eq (char-after (nth 8 state)) (char-after begin)))
           (put-text-property (1- (match-end 0)) (match-end 0) 'syntax-table (string-to-syntax "|")))
          ((not in-string)
           (put-text-property begin (1+ begin) 'syntax-table (string-to-syntax "|"))))))

(defconst tessera--syntax-propertize
  (syntax-propertize-rules ("\"\"\"\\|'''" (0 (ignore (tessera--string-quotes))))))

;; Indentation.

(defun tessera--statement-start ()
  "Go to the line the statement at point begins on; return its indentation."
  (beginning-of-line)
  (let ((state (syntax-ppss)))
    (while (or (> (nth 0 state) 0) (nth 3 state))
      (goto-char (if (nth 3 state) (nth 8 state) (nth 1 state)))
      (beginning-of-line)
      (setq state (syntax-ppss))))
  (current-indentation))

(defun tessera--previous-line ()
  "Go to the line of code before this one; nil when there is none."
  (let (found)
    (while (and (not found) (zerop (forward-line -1)))
      (setq found (not (looking-at-p "\\s-*\\(?:#.*\\|%.*\\)?$"))))
    found))

(defun tessera--branch-indentation ()
  "The indentation of the `if' that a branch on this line belongs to, or nil."
  (save-excursion
    (let ((least most-positive-fixnum) found)
      (while (and (not found) (tessera--previous-line))
        (let ((here (current-indentation)))
          (when (< here least)
            (if (looking-at-p "\\s-*\\(?:el\\)?if\\_>") (setq found here))
            (setq least here))))
      found)))

(defun tessera--indentation ()
  "The column that this line should begin at."
  (save-excursion
    (beginning-of-line)
    (let* ((state (syntax-ppss))
           (open (nth 1 state))
           (closes (looking-at-p "\\s-*[])}]")))
      (cond
       ((nth 3 state) (current-indentation))
       ((looking-at-p "\\s-*%") 0)
       (open
        (goto-char (1+ open))
        (if (looking-at-p "\\s-*\\(?:#.*\\)?$")
            (+ (progn (goto-char open) (tessera--statement-start)) (if closes 0 tessera-indent-offset))
          (current-column)))
       ((and (looking-at-p "\\s-*\\(?:elif\\|else\\)\\_>") (tessera--branch-indentation)))
       ((not (tessera--previous-line)) 0)
       (t
        (end-of-line)
        (let ((header (looking-back ":\\s-*\\(?:#.*\\)?" (line-beginning-position))))
          (let ((indentation (tessera--statement-start)))
            (cond (header (+ indentation tessera-indent-offset))
                  ((looking-at-p "\\s-*\\(?:return\\|pass\\)\\_>")
                   (max 0 (- indentation tessera-indent-offset)))
                  (t indentation)))))))))

(defun tessera-indent-line ()
  "Indent this line; again with the same command, a block less."
  (interactive)
  (let ((column (tessera--indentation))
        (from-end (- (point-max) (point))))
    (when (and (eq this-command 'indent-for-tab-command) (eq this-command last-command)
               (= column (current-indentation)))
      (setq column (max 0 (- column tessera-indent-offset))))
    (indent-line-to column)
    (when (> (- (point-max) from-end) (point))
      (goto-char (- (point-max) from-end)))))

(defun tessera-indent-region (begin end)
  "Indent the lines from BEGIN to END.
One that ends a block by its indentation still does, and one that is
deeper in brackets stays so."
  (save-excursion
    (goto-char begin)
    (beginning-of-line)
    (setq end (copy-marker end))
    (while (< (point) end)
      (let* ((column (tessera--indentation))
             (here (current-indentation))
             (kept (if (zerop (nth 0 (syntax-ppss)))
                       (and (< here column) (zerop (% here tessera-indent-offset)))
                     (> here column))))
        (unless (or kept (looking-at-p "[ \t]*$"))
          (indent-line-to column)))
      (forward-line))))

;; Formatting.

(defun tessera--format (arguments)
  "Replace the buffer by what the formatter makes of it; markers and point stay."
  (let ((output (generate-new-buffer " *tessera-fmt*"))
        (errors (make-temp-file "tessera-fmt")))
    (unwind-protect
        (if (zerop (apply #'call-process-region nil nil tessera-format-command nil
                          (list output errors) nil "-"
                          (concat "--stdin-name=" (buffer-name)) arguments))
            (replace-buffer-contents output)
          (message "%s" (with-temp-buffer (insert-file-contents errors) (string-trim (buffer-string)))))
      (delete-file errors)
      (kill-buffer output))))

(defun tessera-format-buffer ()
  "Format the buffer by `tessera-format-command'."
  (interactive)
  (tessera--format nil))

(defun tessera-format-region (begin end)
  "Format the statements from BEGIN to END."
  (interactive "r")
  (let ((last (max begin (1- end))))
    (tessera--format
     (list (format "--range=%d:%d" (line-number-at-pos begin) (line-number-at-pos last))))))

(define-minor-mode tessera-format-on-save-mode
  "Format Tessera source when it is saved."
  :lighter " Fmt"
  (if tessera-format-on-save-mode
      (add-hook 'before-save-hook #'tessera-format-buffer nil t)
    (remove-hook 'before-save-hook #'tessera-format-buffer t)))

(autoload 'tessera-show-stage "tessera-stages" "Show a stage of the function at point beside the source." t)

(defvar tessera-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-f") #'tessera-format-buffer)
    (define-key map (kbd "C-c C-s") #'tessera-show-stage)
    map))

(defconst tessera-imenu-expressions
  '((nil "^\\s-*def\\s-+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1)
    ("Modules" "^module\\s-+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1)
    ("Params" "^param\\s-+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1)))

;;;###autoload
(define-derived-mode tessera-mode prog-mode "Tessera"
  "Major mode for Tessera source."
  (setq-local comment-start "# ")
  (setq-local comment-start-skip "#+\\s-*")
  (setq-local font-lock-defaults '(tessera-font-lock-keywords))
  (setq-local syntax-propertize-function tessera--syntax-propertize)
  (setq-local indent-line-function #'tessera-indent-line)
  (setq-local indent-region-function #'tessera-indent-region)
  (setq-local indent-tabs-mode nil)
  (setq-local tab-width 4)
  (setq-local fill-column 100)
  (setq-local electric-indent-chars (append '(?: ?\)) electric-indent-chars))
  (setq-local imenu-generic-expression tessera-imenu-expressions))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.tsr\\'" . tessera-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs (cons 'tessera-mode tessera-lsp-command)))

(provide 'tessera-mode)
;;; tessera-mode.el ends here
